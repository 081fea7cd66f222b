//! The messages' Rust types and their descriptors, from `proto/`, without protoc.

use prost::Message;
use std::error::Error;
use std::path::Path;

const FILES: [&str; 5] = [
    "google/rpc/code.proto",
    "p4/bm/packet_trace.proto",
    "p4/config/v1/p4info.proto",
    "p4/v1/p4runtime.proto",
    "p4rack/v1/rack.proto",
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto");
    let descriptors = protox::compile(FILES, ["proto"])?;
    let out = std::env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?;
    std::fs::write(Path::new(&out).join("descriptors.bin"), descriptors.encode_to_vec())?;
    let mut config = prost_build::Config::new();
    config.btree_map(["."]).enable_type_names().include_file("messages.rs").compile_fds(descriptors)?;
    Ok(())
}
