//! A connection to a switch's Thrift services: `p4rack switch`, or BMv2.

use bmv2::cli::{Caller, NotDone};
use bmv2::wire::{Fields, Kind, Limits, Message, Value, decode_within, encode};
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

/// Timeout for an answer of the switch.
const PATIENCE: Duration = Duration::from_secs(60);

/// Limits for answers: tables of a million entries fit.
const LIMITS: Limits = Limits { bytes: 512 << 20, values: 1 << 26 };

/// See the module.
pub struct Client {
    stream: TcpStream,
    sequence: i32,
}

impl Client {
    /// Connects to `host:port`.
    pub fn connect(address: &str) -> Result<Client, String> {
        let failed = |error: std::io::Error| {
            format!("no Thrift at {address}: {error}; `p4rack switch --thrift-port PORT` serves it")
        };
        let mut last = std::io::Error::other("the name has no address");
        // A name may have addresses that nobody listens on, such as ::1.
        for address in address.to_socket_addrs().map_err(failed)? {
            match TcpStream::connect_timeout(&address, PATIENCE) {
                Ok(stream) => {
                    stream
                        .set_nodelay(true)
                        .and_then(|()| stream.set_read_timeout(Some(PATIENCE)))
                        .map_err(failed)?;
                    return Ok(Client { stream, sequence: 0 });
                }
                Err(error) => last = error,
            }
        }
        Err(failed(last))
    }

    fn answer(&mut self) -> Result<Message, String> {
        let failed = |why: String| format!("the switch does not answer: {why}");
        let mut bytes = vec![];
        let mut read = vec![0; 1 << 16];
        loop {
            match self.stream.read(&mut read).map_err(|error| failed(error.to_string()))? {
                0 => return Err(failed("it has closed the connection".to_string())),
                count => bytes.extend_from_slice(read.get(..count).unwrap_or_default()),
            }
            match decode_within(&bytes, LIMITS) {
                Ok(None) => {}
                Ok(Some((message, _))) => return Ok(message),
                Err(why) => return Err(failed(why.to_string())),
            }
        }
    }
}

impl Caller for Client {
    fn call(&mut self, method: &str, fields: Fields) -> Result<Option<Value>, NotDone> {
        self.sequence = self.sequence.wrapping_add(1);
        let call = Message { kind: Kind::Call, name: method.to_string(), sequence: self.sequence, fields };
        self.stream.write_all(&encode(&call)).map_err(|error| NotDone::Failed(error.to_string()))?;
        let answer = self.answer().map_err(NotDone::Failed)?;
        let mut fields = answer.fields.into_iter();
        match (answer.kind, fields.next()) {
            (Kind::Reply, None) => Ok(None),
            (Kind::Reply, Some((0, value))) => Ok(Some(value)),
            (Kind::Reply, Some((_, Value::Struct(inner)))) => match inner.first() {
                Some((_, Value::I32(code))) => Err(NotDone::Declared(*code)),
                _ => Err(NotDone::Failed(format!("`{method}` was refused"))),
            },
            (_, Some((_, Value::String(why)))) => {
                Err(NotDone::Failed(String::from_utf8_lossy(&why).into_owned()))
            }
            _ => Err(NotDone::Failed(format!("`{method}` has an answer that is not understood"))),
        }
    }

    fn write_file(&mut self, file: &str, bytes: &[u8]) -> Result<(), String> {
        std::fs::write(file, bytes).map_err(|error| format!("`{file}` cannot be written: {error}"))
    }
}
