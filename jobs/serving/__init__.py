"""Checks of one store by a resident process: over HTTP (`web`) and the Model Context Protocol (`tools`)."""
