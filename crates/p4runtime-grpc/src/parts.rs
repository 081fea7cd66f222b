//! Answers that are sent without a copy: the text of a program belongs to the device, and may have megabytes.
//!
//! ```text
//! config { p4info cookie p4_device_config }  ->  header, lengths, p4info, cookie | the device's bytes | trailers
//! ```

use crate::guard::Frame;
use p4runtime_proto::p4::v1::GetForwardingPipelineConfigResponse;
use prost::Message;
use prost::bytes::Bytes;
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint, key_len};
use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};
use tonic::Status;
use tonic::codegen::Body as HttpBody;
use tonic::codegen::http::{HeaderMap, HeaderValue};

/// Field numbers: `config` in the response, `p4_device_config` in the configuration.
const CONFIG: u32 = 1;
const TEXT: u32 = 2;

/// Size limit for a frame, in bytes: whether the client reads is seen between two frames.
const PIECE: usize = p4runtime_server::Pieces::SIZE;

/// The message of a successful unary call, with its gRPC header, in parts. As an extension of the response, it replaces the encoded one.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    bytes: VecDeque<Bytes>,
    has_ended: bool,
}

impl Parts {
    /// The encoded response. The text is not copied.
    pub(crate) fn of_config(mut response: GetForwardingPipelineConfigResponse) -> Parts {
        let Some(config) = &mut response.config else { return Parts::new(response.encode_to_vec(), None) };
        let text = std::mem::take(&mut config.p4_device_config);
        if text.is_empty() {
            return Parts::new(response.encode_to_vec(), None);
        }
        let rest = config.encode_to_vec();
        let field = key_len(TEXT) + encoded_len_varint(text.len() as u64) + text.len();
        let mut head = vec![];
        encode_key(CONFIG, WireType::LengthDelimited, &mut head);
        encode_varint((rest.len() + field) as u64, &mut head);
        head.extend(rest);
        encode_key(TEXT, WireType::LengthDelimited, &mut head);
        encode_varint(text.len() as u64, &mut head);
        Parts::new(head, Some(text))
    }

    fn new(head: Vec<u8>, text: Option<Bytes>) -> Parts {
        let length = head.len() + text.as_ref().map_or(0, Bytes::len);
        // A device accepts no configuration of that length.
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        let mut first = vec![0];
        first.extend(length.to_be_bytes());
        first.extend(head);
        let bytes = std::iter::once(Bytes::from(first)).chain(text).collect();
        Parts { bytes, has_ended: false }
    }
}

impl HttpBody for Parts {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame, Status>>> {
        if let Some(bytes) = self.bytes.front_mut() {
            let piece = bytes.split_to(bytes.len().min(PIECE));
            if bytes.is_empty() {
                self.bytes.pop_front();
            }
            return Poll::Ready(Some(Ok(Frame::data(piece))));
        }
        if std::mem::replace(&mut self.has_ended, true) {
            return Poll::Ready(None);
        }
        let mut trailers = HeaderMap::new();
        trailers.insert("grpc-status", HeaderValue::from_static("0"));
        Poll::Ready(Some(Ok(Frame::trailers(trailers))))
    }

    fn is_end_stream(&self) -> bool {
        self.has_ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use p4runtime_proto::p4::config::v1::P4Info;
    use p4runtime_proto::p4::v1::ForwardingPipelineConfig;
    use p4runtime_proto::p4::v1::forwarding_pipeline_config::Cookie;
    use std::future::poll_fn;

    /// Data of the frames, and the trailers.
    async fn sent(mut parts: Parts) -> (Vec<Bytes>, Option<HeaderMap>) {
        let (mut data, mut trailers) = (vec![], None);
        while let Some(frame) = poll_fn(|context| Pin::new(&mut parts).poll_frame(context)).await {
            match frame.unwrap().into_data() {
                Ok(bytes) => {
                    assert!(trailers.is_none(), "they come last");
                    data.push(bytes);
                }
                Err(frame) => trailers = frame.into_trailers().ok(),
            }
        }
        assert!(parts.is_end_stream());
        (data, trailers)
    }

    #[tokio::test]
    async fn a_text_is_sent_as_it_is() {
        let p4info = P4Info { tables: vec![Default::default(); 3], ..P4Info::default() };
        let text = Bytes::from(vec![b'a'; 3 * PIECE + 1]);
        for (p4info, text, cookie) in [
            (Some(p4info.clone()), text.clone(), Some(Cookie { cookie: 7 })),
            (None, text.slice(..1), None),
            (Some(p4info), Bytes::new(), None),
            (None, Bytes::new(), Some(Cookie { cookie: 1 })),
        ] {
            let config = ForwardingPipelineConfig { p4info, p4_device_config: text.clone(), cookie };
            let response = GetForwardingPipelineConfigResponse { config: Some(config) };
            let (data, trailers) = sent(Parts::of_config(response.clone())).await;
            let all = data.concat();
            assert_eq!((all[0], all[1..5].to_vec()), (0, ((all.len() - 5) as u32).to_be_bytes().to_vec()));
            assert_eq!(GetForwardingPipelineConfigResponse::decode(&all[5..]).unwrap(), response);
            assert_eq!(trailers.unwrap()["grpc-status"], "0");
            if !text.is_empty() {
                assert_eq!(data[1].as_ptr(), text.as_ptr(), "it is not copied");
                assert_eq!(data.len() - 1, text.len().div_ceil(PIECE));
            }
        }
        let none = GetForwardingPipelineConfigResponse::default();
        assert_eq!(sent(Parts::of_config(none)).await.0.concat(), [0; 5]);
    }
}
