//! The converter of in-tree Azure volumes: scan, plan, apply, verify, finalize, rollback.
