"""Programs that build, check and show the project; nothing here is shipped."""
