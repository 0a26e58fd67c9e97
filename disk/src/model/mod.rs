//! What controller and node share.
