//! Kubelet's odd `:authority` is replaced before HTTP/2 sees it.
//!
//! Kubelet dials the registration socket without naming its server, so that grpc-go sends the path of the
//! socket as `:authority`, and the HTTP/2 implementation under tonic resets such a request. This is the
//! client's half of a connection with that one header replaced. Header blocks are decoded, because they
//! refer to earlier ones, and written anew without such references; all other frames pass as they are.
//!
//! Whoever may connect is root on this machine (the socket's mode), still every size is bounded: at most
//! one frame and one header block are held.

use bytes::{Buf as _, Bytes, BytesMut};
use loona_hpack::Decoder;

/// What an HTTP/2 client says first.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The length of the head of a frame.
const HEAD: usize = 9;

/// The largest frame; a client may send larger ones only where the server allows it, and this one does not.
const FRAME: usize = 16 * 1024;

/// The largest header block, encoded, in however many frames.
const ENCODED: usize = 8 * 1024;

/// The largest header block, decoded. Written anew it fits in one frame.
const DECODED: usize = 12 * 1024;

/// The most headers of one block; each costs some bytes besides its text.
const HEADERS: usize = 100;

/// The table of earlier headers, as large as HTTP/2 lets it be where nobody says otherwise.
const TABLE: usize = 4096;

const KIND_HEADERS: u8 = 1;
const KIND_CONTINUATION: u8 = 9;
const END_STREAM: u8 = 0x1;
const END_HEADERS: u8 = 0x4;
const PADDED: u8 = 0x8;
const PRIORITY: u8 = 0x20;

/// What the client sent is not HTTP/2, or more than is taken here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct Malformed(&'static str);

/// A header block of which not all frames are there.
#[derive(Debug)]
struct Block {
    stream: [u8; 4],
    flags: u8,
    encoded: BytesMut,
}

/// One connection's half: bytes in, bytes out.
pub(super) struct Rewriter {
    greeted: bool,
    input: BytesMut,
    output: BytesMut,
    block: Option<Block>,
    decoder: Decoder<'static>,
}

impl std::fmt::Debug for Rewriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rewriter").finish_non_exhaustive()
    }
}

impl Default for Rewriter {
    fn default() -> Self {
        let mut decoder = Decoder::new();
        decoder.set_max_allowed_table_size(TABLE);
        Self {
            greeted: false,
            input: BytesMut::new(),
            output: BytesMut::new(),
            block: None,
            decoder,
        }
    }
}

impl Rewriter {
    /// Takes what the client sent.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.input.extend_from_slice(bytes);
    }

    /// Gives at most `limit` bytes of what the server is to read; none when more has to be pushed first.
    pub(super) fn rewritten(&mut self, limit: usize) -> Result<Bytes, Malformed> {
        while self.output.is_empty() && self.step()? {}
        let length = limit.min(self.output.len());
        Ok(self.output.split_to(length).freeze())
    }

    /// Handles the preface or one frame, if it is there as a whole.
    fn step(&mut self) -> Result<bool, Malformed> {
        if !self.greeted {
            return self.greet();
        }
        let [a, b, c, kind, flags, stream @ ..] = match self.input.first_chunk::<HEAD>() {
            Some(head) => *head,
            None => return Ok(false),
        };
        let length = u32::from_be_bytes([0, a, b, c]);
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length > FRAME {
            return Err(Malformed("a frame is larger than HTTP/2 allows by default"));
        }
        if self.input.len() < HEAD + length {
            return Ok(false);
        }
        let mut frame = self.input.split_to(HEAD + length);
        match (kind, self.block.take()) {
            (KIND_HEADERS, None) => {
                frame.advance(HEAD);
                let encoded = unpadded(frame, flags)?;
                self.gather(Block {
                    stream,
                    flags,
                    encoded,
                })?;
            }
            (KIND_CONTINUATION, Some(mut block)) if block.stream == stream => {
                block.encoded.extend_from_slice(&frame[HEAD..]);
                block.flags |= flags & END_HEADERS;
                self.gather(block)?;
            }
            (_, Some(_)) => return Err(Malformed("a header block is interrupted")),
            (_, None) => self.output.unsplit(frame),
        }
        Ok(true)
    }

    fn greet(&mut self) -> Result<bool, Malformed> {
        let length = PREFACE.len().min(self.input.len());
        if self.input[..length] != PREFACE[..length] {
            return Err(Malformed("this is not HTTP/2"));
        }
        self.greeted = length == PREFACE.len();
        if self.greeted {
            self.output.unsplit(self.input.split_to(length));
        }
        Ok(self.greeted)
    }

    /// Writes a block anew once all of it is there.
    fn gather(&mut self, block: Block) -> Result<(), Malformed> {
        if block.encoded.len() > ENCODED {
            return Err(Malformed("a header block is too large"));
        }
        if block.flags & END_HEADERS == 0 {
            self.block = Some(block);
            return Ok(());
        }
        let encoded = self.anew(&block.encoded)?;
        let length = u32::try_from(encoded.len()).unwrap_or(u32::MAX);
        self.output.extend_from_slice(&length.to_be_bytes()[1..]);
        let flags = block.flags & END_STREAM | END_HEADERS;
        self.output.extend_from_slice(&[KIND_HEADERS, flags]);
        self.output.extend_from_slice(&block.stream);
        self.output.unsplit(encoded);
        Ok(())
    }

    /// The same headers, with another name for the server.
    fn anew(&mut self, encoded: &[u8]) -> Result<BytesMut, Malformed> {
        let mut out = BytesMut::new();
        let (mut size, mut count) = (0, 0);
        let decoded = self.decoder.decode_with_cb(encoded, |name, value| {
            (size, count) = (size + name.len() + value.len(), count + 1);
            if size > DECODED || count > HEADERS {
                return;
            }
            let value = match &*name {
                b":authority" => b"localhost",
                _ => &*value,
            };
            literal(&mut out, &name, value);
        });
        decoded.map_err(|_| Malformed("a header block cannot be decoded"))?;
        if size > DECODED || count > HEADERS {
            return Err(Malformed("a header block is too large"));
        }
        Ok(out)
    }
}

/// A frame's header block without its padding and priority.
fn unpadded(mut payload: BytesMut, flags: u8) -> Result<BytesMut, Malformed> {
    let short = Malformed("a frame is shorter than its fields");
    let padding = match flags & PADDED {
        0 => 0,
        _ => usize::from(payload.try_get_u8().map_err(|_| short)?),
    };
    if flags & PRIORITY != 0 {
        if payload.len() < 5 {
            return Err(short);
        }
        payload.advance(5);
    }
    let left = payload.len().checked_sub(padding).ok_or(short)?;
    payload.truncate(left);
    Ok(payload)
}

/// Adds a header that refers to no other.
fn literal(out: &mut BytesMut, name: &[u8], value: &[u8]) {
    out.extend_from_slice(&[0]);
    for text in [name, value] {
        length(out, text.len());
        out.extend_from_slice(text);
    }
}

/// A length in HPACK's integers: seven bits in the first byte, seven more in each one that follows.
fn length(out: &mut BytesMut, length: usize) {
    const SHORT: usize = 0x7f;
    let byte = |number: usize| u8::try_from(number & 0xff).unwrap_or(u8::MAX);
    if length < SHORT {
        return out.extend_from_slice(&[byte(length)]);
    }
    out.extend_from_slice(&[byte(SHORT)]);
    let mut rest = length - SHORT;
    while rest >= 0x80 {
        out.extend_from_slice(&[byte(rest % 0x80 + 0x80)]);
        rest /= 0x80;
    }
    out.extend_from_slice(&[byte(rest)]);
}

#[cfg(test)]
mod tests;
