"""What is asked of each pass that ran. One question a file; `oracle.judge` asks them in order."""
