"""What clients do in a trial: each file is one kind of client, written as a script."""
