"""Runs Modules: frames on the heap that can pause, be saved, be resumed and be replayed."""
