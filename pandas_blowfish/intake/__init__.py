"""Files to frames on the curator's side, before `protect`: sees rows, never randomness or budget."""
