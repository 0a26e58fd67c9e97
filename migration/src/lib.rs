//! Exact translation between in-tree Azure volumes and CSI: values in, values out.
