"""Worker processes, their threads, and interruptions."""
