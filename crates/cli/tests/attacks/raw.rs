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
    raw_call_over(channel, path, bytes).await
}

/// The same over this connection.
pub async fn raw_call_over(channel: Channel, path: &str, bytes: Vec<u8>) -> Result<(), tonic::Status> {
    let mut client = tonic::client::Grpc::new(channel);
    client.ready().await.map_err(|error| tonic::Status::unknown(error.to_string()))?;
    let path = path.parse().unwrap();
    let answer = client.unary(tonic::Request::new(Opaque(bytes)), path, Codec::<Opaque, Opaque>::default());
    answer.await.map(drop)
}

/// Bytes that a client of HTTP/2 sends.
pub struct Frames(Vec<u8>);

impl Frames {
    /// The beginning of a connection.
    pub fn begin() -> Frames {
        let mut frames = Frames(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec());
        frames.add(4, 0, 0, &[]);
        frames
    }

    /// Frames in a connection that has begun.
    pub fn more() -> Frames {
        Frames(vec![])
    }

    /// A frame of a stream.
    pub fn add(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        self.0.extend(&(payload.len() as u32).to_be_bytes()[1..]);
        self.0.extend([kind, flags]);
        self.0.extend(stream.to_be_bytes());
        self.0.extend(payload);
    }

    /// A call of the RPC with this path.
    pub fn call(&mut self, stream: u32, path: &str) {
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
        self.add(1, 4, stream, &headers);
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// A connection with calls of the RPC with this path, which announce a message of so many bytes each, send nothing of it, and read nothing.
pub fn announce(address: &str, calls: u32, (path, length): (&str, u32)) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    let mut frames = Frames::begin();
    for call in 0..calls {
        frames.call(2 * call + 1, path);
        frames.add(0, 0, 2 * call + 1, &[&[0][..], &length.to_be_bytes()].concat());
    }
    stream.write_all(frames.bytes()).unwrap();
    stream
}
