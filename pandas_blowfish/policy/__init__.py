"""What is promised: domains, secret graphs, public facts. Never sees rows."""
