//! Tests of `authority`.

use loona_hpack::{Decoder, Encoder};
use proptest::prelude::*;

use super::{
    DECODED, ENCODED, END_HEADERS, END_STREAM, FRAME, KIND_CONTINUATION, KIND_HEADERS, Malformed,
    PADDED, PREFACE, PRIORITY, Rewriter,
};

/// What a kubelet 1.37.2 said on a connection, as it was recorded: GetInfo, and that it refuses a second
/// socket of a driver that is registered already.
const KUBELET: &[u8] = include_bytes!("../testdata/kubelet-1.37.2.bin");

type Headers = Vec<(Vec<u8>, Vec<u8>)>;

fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let head = [
        length[1], length[2], length[3], kind, flags, 0, 0, 0, stream,
    ];
    [&head, payload].concat()
}

fn headers(list: &[(&str, &str)]) -> Headers {
    let owned = |text: &str| text.as_bytes().to_vec();
    list.iter().map(|(a, b)| (owned(a), owned(b))).collect()
}

fn encoded(encoder: &mut Encoder<'_>, list: &Headers) -> Vec<u8> {
    encoder.encode(list.iter().map(|(name, value)| (&name[..], &value[..])))
}

/// Pushes everything at once, and takes everything.
fn all(bytes: &[u8]) -> Result<Vec<u8>, Malformed> {
    let mut rewriter = Rewriter::default();
    rewriter.push(bytes);
    drained(&mut rewriter)
}

fn drained(rewriter: &mut Rewriter) -> Result<Vec<u8>, Malformed> {
    let mut out = Vec::new();
    loop {
        let part = rewriter.rewritten(7)?;
        if part.is_empty() {
            return Ok(out);
        }
        out.extend_from_slice(&part);
    }
}

/// The frames of a rewritten conversation: kind, flags, stream, payload.
fn frames(bytes: &[u8]) -> Vec<(u8, u8, u8, Vec<u8>)> {
    let mut rest = bytes.strip_prefix(PREFACE).unwrap();
    let mut frames = Vec::new();
    while let [a, b, c, kind, flags, _, _, _, stream, after @ ..] = rest {
        let length = usize::try_from(u32::from_be_bytes([0, *a, *b, *c])).unwrap();
        let (payload, next) = after.split_at(length);
        frames.push((*kind, *flags, *stream, payload.to_vec()));
        rest = next;
    }
    assert!(rest.is_empty(), "half a frame: {rest:?}");
    frames
}

/// The headers of a rewritten conversation, one list per block. A decoder that has seen nothing else
/// reads each of them, so none refers to another.
fn blocks(bytes: &[u8]) -> Vec<Headers> {
    let blocks = frames(bytes).into_iter().filter(|f| f.0 == KIND_HEADERS);
    blocks
        .map(|(_, flags, _, payload)| {
            assert_eq!(flags & END_HEADERS, END_HEADERS);
            Decoder::new().decode(&payload).unwrap()
        })
        .collect()
}

fn request(path: &str) -> Headers {
    headers(&[
        (":method", "POST"),
        (":authority", "%2Fvar%2Flib%2Fkubelet%2Fx-reg.sock"),
        (":path", path),
        ("content-type", "application/grpc"),
    ])
}

fn with_localhost(mut list: Headers) -> Headers {
    for (name, value) in &mut list {
        if name == b":authority" {
            *value = b"localhost".to_vec();
        }
    }
    list
}

#[test]
fn only_the_authority_changes_and_later_blocks_may_refer_to_earlier_ones() {
    let mut encoder = Encoder::new();
    let mut bytes = PREFACE.to_vec();
    let lists = [request("/a"), request("/b"), request("/a")];
    for (stream, list) in (1..).step_by(2).zip(&lists) {
        let block = encoded(&mut encoder, list);
        bytes.extend(frame(KIND_HEADERS, END_HEADERS, stream, &block));
        bytes.extend(frame(0, END_STREAM, stream, b"hello"));
    }
    let out = all(&bytes).unwrap();
    assert_eq!(blocks(&out), lists.map(with_localhost));
    let data: Vec<_> = frames(&out).into_iter().filter(|f| f.0 == 0).collect();
    assert_eq!(data.len(), 3);
    assert_eq!(data[1], (0, END_STREAM, 3, b"hello".to_vec()));
}

fn value(list: &Headers, name: &str) -> String {
    let found = list.iter().find(|(key, _)| key == name.as_bytes());
    String::from_utf8(found.unwrap().1.clone()).unwrap()
}

#[test]
fn a_recorded_kubelet_asks_localhost() {
    let out = all(KUBELET).unwrap();
    let lists = blocks(&out);
    let calls: Vec<_> = lists.iter().map(|list| value(list, ":path")).collect();
    assert_eq!(
        calls,
        [
            "/pluginregistration.Registration/GetInfo",
            "/pluginregistration.Registration/NotifyRegistrationStatus"
        ]
    );
    for list in &lists {
        assert_eq!(value(list, ":authority"), "localhost");
        assert!(value(list, "user-agent").starts_with("grpc-go/"));
    }
    // Without the rewriting it does say something else, or there would be no need for all of this.
    let mut rest = &KUBELET[PREFACE.len()..];
    let mut decoder = Decoder::new();
    while let [a, b, c, kind, _, _, _, _, _, after @ ..] = rest {
        let length = usize::try_from(u32::from_be_bytes([0, *a, *b, *c])).unwrap();
        let (payload, next) = after.split_at(length);
        if *kind == KIND_HEADERS {
            let authority = value(&decoder.decode(payload).unwrap(), ":authority");
            assert!(authority.starts_with("%2Fvar%2Flib"), "{authority}");
        }
        rest = next;
    }
}

#[test]
fn padding_priority_and_continuations_are_taken_out() {
    let list = request("/a");
    let block = encoded(&mut Encoder::new(), &list);
    let (first, second) = block.split_at(block.len() / 2);
    let mut bytes = PREFACE.to_vec();
    let padded = [&[3][..], &[0, 0, 0, 0, 16], first, &[0; 3]].concat();
    let flags = PADDED | PRIORITY | END_STREAM;
    bytes.extend(frame(KIND_HEADERS, flags, 1, &padded));
    bytes.extend(frame(KIND_CONTINUATION, END_HEADERS, 1, second));
    let out = all(&bytes).unwrap();
    assert_eq!(blocks(&out), [with_localhost(list)]);
    assert_eq!(frames(&out)[0].1, END_HEADERS | END_STREAM);
}

#[test]
fn long_values_keep_their_length() {
    for length in [0, 126, 127, 128, 254, 255, 256, 2000] {
        let list = headers(&[(":path", &"x".repeat(length))]);
        let block = encoded(&mut Encoder::new(), &list);
        let bytes = [PREFACE, &frame(KIND_HEADERS, END_HEADERS, 1, &block)].concat();
        assert_eq!(blocks(&all(&bytes).unwrap()), [list]);
    }
}

#[test]
fn what_is_no_http2_or_too_large_is_refused() {
    let begun = |frames: &[Vec<u8>]| [PREFACE.to_vec(), frames.concat()].concat();
    let block = encoded(&mut Encoder::new(), &request("/a"));
    let open = frame(KIND_HEADERS, 0, 1, &block);
    // One long header, and then references to it, a byte each.
    let bomb = |references: usize| {
        let list = headers(&[("long", &"x".repeat(1000))]);
        let mut block = encoded(&mut Encoder::new(), &list);
        block.extend(vec![0x80 | 62; references]);
        begun(&[frame(KIND_HEADERS, END_HEADERS, 1, &block)])
    };
    let many = vec![0x82; 101];
    let table: &[(&str, Vec<u8>)] = &[
        ("not HTTP/2", b"GET / HTTP/1.1\r\n\r\n".to_vec()),
        ("frame", begun(&[vec![0, 0x40, 1, 0, 0, 0, 0, 0, 1]])),
        ("interrupted", begun(&[open.clone(), frame(0, 0, 1, b"")])),
        (
            "interrupted",
            begun(&[open.clone(), frame(KIND_CONTINUATION, 0, 3, b"")]),
        ),
        (
            "shorter",
            begun(&[frame(KIND_HEADERS, PADDED | END_HEADERS, 1, &[9, 1])]),
        ),
        (
            "shorter",
            begun(&[frame(KIND_HEADERS, PRIORITY | END_HEADERS, 1, &[0; 4])]),
        ),
        (
            "too large",
            begun(&[frame(KIND_HEADERS, 0, 1, &vec![0; ENCODED + 1])]),
        ),
        ("too large", bomb(DECODED / 1000)),
        (
            "too large",
            begun(&[frame(KIND_HEADERS, END_HEADERS, 1, &many)]),
        ),
        (
            "decoded",
            begun(&[frame(KIND_HEADERS, END_HEADERS, 1, &[0xff, 0xff])]),
        ),
        // A table larger than HTTP/2 lets it be.
        (
            "decoded",
            begun(&[frame(KIND_HEADERS, END_HEADERS, 1, &[0x3f, 0xe2, 0x1f])]),
        ),
    ];
    for (why, bytes) in table {
        let error = all(bytes).unwrap_err().to_string();
        assert!(error.contains(why), "{why}: {error}");
    }
    assert!(all(&bomb(DECODED / 1000 - 2)).is_ok());
}

proptest! {
    #[test]
    fn pieces_of_any_size_give_the_same(cuts in proptest::collection::vec(1_usize..40, 1..200)) {
        let mut rewriter = Rewriter::default();
        let mut out = Vec::new();
        let mut rest = KUBELET;
        for cut in cuts.iter().cycle() {
            let (piece, next) = rest.split_at((*cut).min(rest.len()));
            rewriter.push(piece);
            out.extend(drained(&mut rewriter).unwrap());
            rest = next;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(out, all(KUBELET).unwrap());
    }

    #[test]
    fn any_frames_are_rewritten_or_refused_within_bounds(
        parts in proptest::collection::vec(
            (0_u8..12, any::<u8>(), 0_u8..4, proptest::collection::vec(any::<u8>(), 0..300)),
            0..20,
        ),
        tail in proptest::collection::vec(any::<u8>(), 0..50),
    ) {
        let mut rewriter = Rewriter::default();
        rewriter.push(PREFACE);
        for (kind, flags, stream, payload) in &parts {
            rewriter.push(&frame(*kind, *flags, *stream, payload));
        }
        rewriter.push(&tail);
        let _ = drained(&mut rewriter);
        prop_assert!(rewriter.output.len() <= FRAME);
    }

    #[test]
    fn any_header_block_is_rewritten_or_refused(block in proptest::collection::vec(any::<u8>(), 0..600)) {
        let bytes = [PREFACE, &frame(KIND_HEADERS, END_HEADERS, 1, &block)].concat();
        if let Ok(out) = all(&bytes) {
            prop_assert_eq!(blocks(&out).len(), 1);
        }
    }
}
