//! Compiles the files of `proto` with a compiler written in Rust, so that no `protoc` is needed.

use std::error::Error;
use std::path::PathBuf;

use prost::Message;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=proto/csi.proto");
    println!("cargo::rerun-if-changed=proto/pluginregistration.proto");
    let descriptors = protox::compile(["csi.proto"], ["proto"])?;
    #[expect(
        clippy::disallowed_methods,
        reason = "cargo hands the output folder to build scripts"
    )]
    let out = std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?;
    std::fs::write(
        PathBuf::from(out).join("csi_descriptor.bin"),
        descriptors.encode_to_vec(),
    )?;
    tonic_prost_build::configure()
        .compile_well_known_types(false)
        .compile_fds(descriptors)?;
    let registration = protox::compile(["pluginregistration.proto"], ["proto"])?;
    tonic_prost_build::configure().compile_fds(registration)?;
    Ok(())
}
