"""What goes over the wire: messages, envelope, JSON-RPC, errors, tokens, schemas."""
