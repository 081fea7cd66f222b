//! Calls with any bytes, and connections that do not keep to what clients do.

use p4runtime_grpc::{Codec, Opaque};
use std::io::Write;
use std::net::TcpStream;
use tonic::transport::Channel;

/// A field with its bytes.
pub fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    prost::encoding::encode_varint(bytes.len() as u64, &mut out);
    out.extend(bytes);
    out
}

/// A unary call with the bytes that are given, whatever they are.
pub async fn raw_call(address: &str, rpc: &'static str, bytes: Vec<u8>) -> Result<(), tonic::Status> {
    raw_call_of(address, &format!("/p4.v1.P4Runtime/{rpc}"), bytes).await
}

/// The same for the RPC with this path.
pub async fn raw_call_of(address: &str, path: &str, bytes: Vec<u8>) -> Result<(), tonic::Status> {
    let channel = Channel::from_shared(format!("http://{address}")).unwrap().connect().await.unwrap();
    let mut client = tonic::client::Grpc::new(channel);
    client.ready().await.map_err(|error| tonic::Status::unknown(error.to_string()))?;
    let path = path.parse().unwrap();
    let answer = client.unary(tonic::Request::new(Opaque(bytes)), path, Codec::<Opaque, Opaque>::default());
    answer.await.map(drop)
}

/// A connection with calls of the RPC with this path, which announce a message of so many bytes each, send nothing of it, and read nothing.
pub fn announce(address: &str, calls: u32, (path, length): (&str, u32)) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    let mut frame = |kind: u8, flags: u8, id: u32, payload: &[u8]| {
        bytes.extend(&(payload.len() as u32).to_be_bytes()[1..]);
        bytes.extend([kind, flags]);
        bytes.extend(id.to_be_bytes());
        bytes.extend(payload);
    };
    frame(4, 0, 0, &[]);
    for call in 0..calls {
        // POST, http, and literals without a table: the path and what gRPC wants.
        let mut headers = vec![0x83, 0x86];
        let fields =
            [(":path", path), (":authority", "a"), ("content-type", "application/grpc"), ("te", "trailers")];
        for (name, value) in fields {
            headers.extend([0, name.len() as u8]);
            headers.extend(name.as_bytes());
            headers.push(value.len() as u8);
            headers.extend(value.as_bytes());
        }
        frame(1, 4, 2 * call + 1, &headers);
        frame(0, 0, 2 * call + 1, &[&[0][..], &length.to_be_bytes()].concat());
    }
    stream.write_all(&bytes).unwrap();
    stream
}
