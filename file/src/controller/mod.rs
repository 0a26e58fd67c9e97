//! The Controller service: Azure, no mounts.
