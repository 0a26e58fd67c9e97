//! The Azure File CSI driver: SMB and NFS shares.
