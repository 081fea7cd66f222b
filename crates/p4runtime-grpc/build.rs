//! The service's Rust traits; the messages are those of `p4runtime-proto`.

use prost::Message;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    let descriptors = prost_types::FileDescriptorSet::decode(p4runtime_proto::DESCRIPTORS)?;
    tonic_prost_build::configure()
        .build_client(true)
        .extern_path(".p4", "::p4runtime_proto::p4")
        .extern_path(".p4rack", "::p4runtime_proto::p4rack")
        .extern_path(".google.rpc", "::p4runtime_proto::google::rpc")
        .compile_fds(descriptors)?;
    Ok(())
}
