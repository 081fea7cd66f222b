//! The Rust code of P4Runtime's messages and services, and their descriptors, and of etcd's, into cargo's `OUT_DIR`.
//!
//! In a build script, since generators that `xtask` depends on would add features to crates that the command uses: cargo would compile
//! these again for the command alone.

use prost::Message;
use std::error::Error;
use std::path::{Path, PathBuf};

const PROTO: &str = "../crates/p4runtime-proto/proto";

/// Folder of the part of etcd's API that a controller uses.
const ETCD: &str = "../crates/state-etcd/proto";

/// Descriptions of messages and services. The files that they import are found.
const FILES: [&str; 5] = [
    "google/rpc/code.proto",
    "p4/bm/packet_trace.proto",
    "p4/config/v1/p4info.proto",
    "p4/v1/p4runtime.proto",
    "p4rack/v1/rack.proto",
];

/// Writes all files, a folder for each crate.
pub fn run() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={PROTO}");
    println!("cargo::rerun-if-changed={ETCD}");
    println!("cargo::rerun-if-changed=generators.rs");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    let folder = |name: &str| -> Result<PathBuf, std::io::Error> {
        let folder = Path::new(&out).join(name);
        std::fs::create_dir_all(&folder)?;
        Ok(folder)
    };
    let descriptors = protox::compile(FILES, [PROTO])?;
    let messages = folder("p4runtime-proto")?;
    // Comments are for the generated code alone.
    let mut bare = descriptors.clone();
    bare.file.iter_mut().for_each(|file| file.source_code_info = None);
    std::fs::write(messages.join("descriptors.bin"), bare.encode_to_vec())?;
    let mut config = prost_build::Config::new();
    config.btree_map(["."]).enable_type_names().include_file("messages.rs").out_dir(messages);
    // Copies of a program's text share it.
    config.bytes([".p4.v1.ForwardingPipelineConfig.p4_device_config"]);
    config.compile_fds(descriptors.clone())?;

    let builder = || {
        tonic_prost_build::configure()
            .extern_path(".p4rack", "::p4runtime_proto::p4rack")
            .extern_path(".google.rpc", "::p4runtime_proto::google::rpc")
    };
    builder()
        .build_server(false)
        .extern_path(".p4", "::p4runtime_proto::p4")
        .out_dir(folder("p4runtime-grpc/client")?)
        .compile_fds(descriptors.clone())?;
    // Servers decode what may be large when they know whose it is, and encode what is read where it is found.
    let mut server = builder().build_client(false).codec_path("crate::codec::Codec");
    for name in ["WriteRequest", "ReadRequest", "SetForwardingPipelineConfigRequest"] {
        server = server.extern_path(format!(".p4.v1.{name}"), format!("crate::service::Raw{name}"));
    }
    for name in ["SteerRequest", "TraceRequest", "MergeRequest", "SampleRequest"] {
        server = server.extern_path(format!(".p4rack.v1.{name}"), format!("crate::service::Raw{name}"));
    }
    server
        .extern_path(".p4.v1.ReadResponse", "crate::service::EncodedReadResponse")
        .extern_path(".p4", "::p4runtime_proto::p4")
        .out_dir(folder("p4runtime-grpc/server")?)
        .compile_fds(descriptors)?;

    let etcd = protox::compile(["etcd.proto"], [ETCD])?;
    let client = tonic_prost_build::configure().build_server(false);
    client.out_dir(folder("state-etcd/client")?).compile_fds(etcd.clone())?;
    // Tests have a server of their own.
    tonic_prost_build::configure()
        .build_client(false)
        .extern_path(".etcdserverpb", "::state_etcd::api")
        .out_dir(folder("state-etcd/server")?)
        .compile_fds(etcd)?;
    Ok(())
}
