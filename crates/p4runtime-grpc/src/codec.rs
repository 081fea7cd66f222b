//! The codec of the services: requests that are decoded later, and responses that are encoded already.

use prost::Message;
use prost::bytes::{Buf, BufMut, Bytes};
use std::marker::PhantomData;
use tonic::Status;
use tonic::codec::{BufferSettings, DecodeBuf, Decoder, EncodeBuf, Encoder};

/// A received message that is not decoded yet.
#[derive(Debug)]
pub struct Raw<M> {
    pub(crate) bytes: Bytes,
    message: PhantomData<fn() -> M>,
}

impl<M: Message + Default> Raw<M> {
    /// Decodes it.
    pub(crate) fn decode(self) -> Result<M, Status> {
        // From a slice: parts of the message that are kept are copies, and the buffer of the whole message is freed.
        M::decode(&self.bytes[..]).map_err(|error| undecodable(&error))
    }
}

fn undecodable(error: &prost::DecodeError) -> Status {
    Status::internal(format!("the message cannot be decoded: {error}"))
}

/// An encoded message of type `M`.
#[derive(Debug)]
pub struct Encoded<M> {
    bytes: Vec<u8>,
    message: PhantomData<fn() -> M>,
}

impl<M> Encoded<M> {
    /// From the encoded bytes.
    pub(crate) fn new(bytes: Vec<u8>) -> Encoded<M> {
        Encoded { bytes, message: PhantomData }
    }
}

/// A message as raw bytes, as hostile clients send them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Opaque(pub Vec<u8>);

impl Come for Opaque {
    fn take(buffer: &mut DecodeBuf<'_>) -> Result<Opaque, Status> {
        Ok(Opaque(buffer.copy_to_bytes(buffer.remaining()).to_vec()))
    }
}

impl Go for Opaque {
    fn put(self, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put_slice(&self.0);
        Ok(())
    }
}

/// A type that can be received.
pub trait Come: Sized {
    /// Reads one message from the whole of `buffer`.
    fn take(buffer: &mut DecodeBuf<'_>) -> Result<Self, Status>;
}

impl<M: Message + Default> Come for M {
    fn take(buffer: &mut DecodeBuf<'_>) -> Result<M, Status> {
        M::decode(buffer).map_err(|error| undecodable(&error))
    }
}

impl<M> Come for Raw<M> {
    fn take(buffer: &mut DecodeBuf<'_>) -> Result<Raw<M>, Status> {
        Ok(Raw { bytes: buffer.copy_to_bytes(buffer.remaining()), message: PhantomData })
    }
}

/// A type that can be sent.
pub trait Go {
    /// Appends the encoded message.
    fn put(self, buffer: &mut EncodeBuf<'_>) -> Result<(), Status>;
}

impl<M: Message> Go for M {
    fn put(self, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        self.encode(buffer).map_err(|error| Status::internal(error.to_string()))
    }
}

impl<M> Go for Encoded<M> {
    fn put(self, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.reserve(self.bytes.len());
        buffer.put_slice(&self.bytes);
        Ok(())
    }
}

/// The codec: sends `T`, receives `U`.
#[derive(Debug)]
pub struct Codec<T, U>(PhantomData<fn() -> (T, U)>);

impl<T, U> Default for Codec<T, U> {
    fn default() -> Codec<T, U> {
        Codec(PhantomData)
    }
}

impl<T: Go + Send + 'static, U: Come + Send + 'static> tonic::codec::Codec for Codec<T, U> {
    type Encode = T;
    type Decode = U;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Codec::default()
    }

    fn decoder(&mut self) -> Self {
        Codec::default()
    }
}

impl<T: Go, U> Encoder for Codec<T, U> {
    type Item = T;
    type Error = Status;

    fn encode(&mut self, item: T, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        item.put(buffer)
    }

    fn buffer_settings(&self) -> BufferSettings {
        BufferSettings::default()
    }
}

impl<T, U: Come> Decoder for Codec<T, U> {
    type Item = U;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<U>, Status> {
        U::take(buffer).map(Some)
    }

    fn buffer_settings(&self) -> BufferSettings {
        BufferSettings::default()
    }
}
