//! The service's Rust traits; the messages are those of `p4runtime-proto`.

use prost::Message;
use std::error::Error;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    let descriptors = || prost_types::FileDescriptorSet::decode(p4runtime_proto::DESCRIPTORS);
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    let folder = |name: &str| -> Result<PathBuf, std::io::Error> {
        let folder = Path::new(&out).join(name);
        std::fs::create_dir_all(&folder)?;
        Ok(folder)
    };
    let builder = || {
        tonic_prost_build::configure()
            .extern_path(".p4rack", "::p4runtime_proto::p4rack")
            .extern_path(".google.rpc", "::p4runtime_proto::google::rpc")
    };
    builder()
        .build_server(false)
        .extern_path(".p4", "::p4runtime_proto::p4")
        .out_dir(folder("client")?)
        .compile_fds(descriptors()?)?;
    // Servers decode what may be large when they know whose it is, and encode what is read where it is found.
    let mut server = builder().build_client(false).codec_path("crate::codec::Codec");
    for name in ["WriteRequest", "ReadRequest", "SetForwardingPipelineConfigRequest"] {
        server = server.extern_path(format!(".p4.v1.{name}"), format!("crate::service::Raw{name}"));
    }
    server
        .extern_path(".p4.v1.ReadResponse", "crate::service::EncodedReadResponse")
        .extern_path(".p4", "::p4runtime_proto::p4")
        .out_dir(folder("server")?)
        .compile_fds(descriptors()?)?;
    Ok(())
}
