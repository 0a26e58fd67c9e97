//! CSI 1.13 and kubelet's plugin registration: messages, clients and servers, generated from `proto`.
//!
//! | module | what it holds |
//! |---|---|
//! | [`csi::v1`] | the five services of CSI and their messages |
//! | [`pluginregistration`] | how a plugin makes itself known to kubelet |
//!
//! Must not know: anything of ours. Nothing here is written by hand, so nothing daily touches it.

/// The protobuf package `csi`.
pub mod csi {
    /// The protobuf package `csi.v1`.
    // Here and below the only blanket allows of the tree: this text comes out of a generator.
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

/// The protobuf package `pluginregistration`.
#[allow(
    clippy::all,
    clippy::pedantic,
    missing_docs,
    unreachable_pub,
    missing_debug_implementations
)]
pub mod pluginregistration {
    include!(concat!(env!("OUT_DIR"), "/pluginregistration.rs"));
}

/// The compiled `csi.proto` with everything it imports, as an encoded `FileDescriptorSet`.
pub const DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/csi_descriptor.bin"));
