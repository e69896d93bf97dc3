"""Post-processing of released numbers: free, never sees rows."""
