//! Bodies: one boxed type for all of them, and reading one up to a limit in bytes.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};

/// What a service's errors and bodies fail with.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The body of what the gate forwards and answers.
pub struct GateBody(UnsyncBoxBody<Bytes, BoxError>);

impl Body for GateBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        Pin::new(&mut self.0).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.size_hint()
    }
}

impl fmt::Debug for GateBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GateBody")
    }
}

/// Any body as a [`GateBody`].
pub fn boxed<B>(body: B) -> GateBody
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    GateBody(body.map_err(Into::into).boxed_unsync())
}

/// These bytes as a body.
pub fn full(bytes: impl Into<Bytes>) -> GateBody {
    boxed(Full::new(bytes.into()))
}

/// What was read of a body.
pub(super) enum Taken {
    /// All of it; trailers are let go.
    Whole(Bytes),
    /// There is more than the limit: what was read, and the rest.
    Larger(Bytes, GateBody),
}

/// Reads a body to its end, but not much past the limit. The declared length is only believed when it is too large.
pub(super) async fn take(mut body: GateBody, limit: u64) -> Result<Taken, BoxError> {
    if body.size_hint().lower() > limit {
        return Ok(Taken::Larger(Bytes::new(), body));
    }
    let mut held = BytesMut::new();
    while let Some(frame) = body.frame().await.transpose()? {
        if let Ok(data) = frame.into_data() {
            held.extend_from_slice(&data);
            if held.len() as u64 > limit {
                return Ok(Taken::Larger(held.freeze(), body));
            }
        }
    }
    Ok(Taken::Whole(held.freeze()))
}

/// A body that was begun to be read, put together again.
pub(super) fn rejoined(start: Bytes, rest: GateBody) -> GateBody {
    if start.is_empty() { rest } else { boxed(Rejoined { start: Some(start), rest }) }
}

struct Rejoined {
    start: Option<Bytes>,
    rest: GateBody,
}

impl Body for Rejoined {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match self.start.take() {
            Some(start) => Poll::Ready(Some(Ok(Frame::data(start)))),
            None => Pin::new(&mut self.rest).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.start.is_none() && self.rest.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let start = self.start.as_ref().map_or(0, |start| start.len() as u64);
        let rest = self.rest.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(rest.lower().saturating_add(start));
        if let Some(upper) = rest.upper() {
            hint.set_upper(upper.saturating_add(start));
        }
        hint
    }
}
