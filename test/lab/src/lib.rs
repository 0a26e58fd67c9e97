//! The node lab: virtual machines as Kubernetes nodes, with hot-plugged disks and real shares.
