//! CSI 1.13: messages, clients and servers, generated from `proto/csi.proto`.
//!
//! | module | what it holds |
//! |---|---|
//! | [`csi::v1`] | the five services and their messages |
//!
//! Must not know: anything of ours. Nothing here is written by hand, so nothing daily touches it.

/// The protobuf package `csi`.
pub mod csi {
    /// The protobuf package `csi.v1`.
    // The only blanket allow of the tree: this text comes out of a generator.
    #[allow(
        clippy::all,
        clippy::pedantic,
        missing_docs,
        unreachable_pub,
        missing_debug_implementations
    )]
    pub mod v1 {
        include!(concat!(env!("OUT_DIR"), "/csi.v1.rs"));
    }
}

/// The compiled `csi.proto` with everything it imports, as an encoded `FileDescriptorSet`.
pub const DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/csi_descriptor.bin"));
