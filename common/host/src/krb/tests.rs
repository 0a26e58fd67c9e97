//! A message as a server makes it, and the cache that comes of it.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use super::{NotATicket, read_message, write_cache};

fn der(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content: Vec<u8> = parts.concat();
    let mut out = vec![tag];
    match content.len() {
        short @ 0..0x80 => out.push(u8::try_from(short).unwrap()),
        long => {
            out.push(0x82);
            out.extend(u16::try_from(long).unwrap().to_be_bytes());
        }
    }
    out.extend(content);
    out
}

fn number(value: u8) -> Vec<u8> {
    der(0x02, &[&[value]])
}

fn name(kind: u8, parts: &[&str]) -> Vec<u8> {
    let parts: Vec<Vec<u8>> = parts.iter().map(|p| der(0x1b, &[p.as_bytes()])).collect();
    let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
    let list = der(0x30, &parts);
    der(0x30, &[&der(0xa0, &[&number(kind)]), &der(0xa1, &[&list])])
}

const TICKET: &[u8] = &[0x61, 0x03, 1, 2, 3];

fn message(encryption: u8) -> Vec<u8> {
    let realm = der(0x1b, &[b"R.MICROSOFT.COM"]);
    let key = der(
        0x30,
        &[
            &der(0xa0, &[&number(18)]),
            &der(0xa1, &[&der(0x04, &[&[0xaa; 32]])]),
        ],
    );
    let time = |text: &str| der(0x18, &[text.as_bytes()]);
    let info = der(
        0x30,
        &[
            &der(0xa0, &[&key]),
            &der(0xa1, &[&realm]),
            &der(0xa2, &[&name(1, &["AzureFileClient"])]),
            &der(0xa3, &[&der(0x03, &[&[0, 0x40, 0xa0, 0, 0]])]),
            &der(0xa4, &[&time("20260303093000Z")]),
            &der(0xa6, &[&time("20260304093000Z")]),
            &der(0xa8, &[&realm]),
            &der(0xa9, &[&name(2, &["cifs", "a.file.core.windows.net"])]),
        ],
    );
    let inner = der(0x7d, &[&der(0x30, &[&der(0xa0, &[&der(0x30, &[&info])])])]);
    let cipher = der(
        0x30,
        &[
            &der(0xa0, &[&number(encryption)]),
            &der(0xa2, &[&der(0x04, &[&inner])]),
        ],
    );
    let body = der(
        0x30,
        &[
            &der(0xa0, &[&number(5)]),
            &der(0xa1, &[&number(22)]),
            &der(0xa2, &[&der(0x30, &[TICKET])]),
            &der(0xa3, &[&cipher]),
        ],
    );
    der(0x76, &[&body])
}

#[test]
fn a_message_gives_its_tickets() {
    let tickets = read_message(&message(0)).unwrap();
    let [ticket] = tickets.as_slice() else {
        panic!("{tickets:?}");
    };
    assert_eq!(ticket.server.parts, ["cifs", "a.file.core.windows.net"]);
    assert_eq!(ticket.client.parts, ["AzureFileClient"]);
    assert_eq!(
        (ticket.granted, ticket.begins),
        (1_772_530_200, 1_772_530_200)
    );
    assert_eq!(ticket.ends, 1_772_530_200 + 86_400);
    assert_eq!((ticket.key_type, ticket.flags), (18, 0x40a0_0000));
    assert!(!format!("{ticket:?}").contains("aa"), "no key is shown");
}

#[test]
fn what_is_encrypted_cut_or_something_else_is_refused() {
    assert_eq!(
        read_message(&message(18)).unwrap_err(),
        NotATicket("it is encrypted")
    );
    let whole = message(0);
    for length in 0..whole.len() {
        assert!(read_message(&whole[..length]).is_err(), "{length}");
    }
    assert!(read_message(b"no DER at all").is_err());
}

#[test]
fn a_cache_has_the_form_that_mit_kerberos_reads() {
    let tickets = read_message(&message(0)).unwrap();
    let bytes = super::cache::bytes(&tickets);
    let bytes = bytes.as_bytes();
    assert_eq!(&bytes[..4], &[5, 4, 0, 12]);
    let mut expected = Vec::new();
    expected.extend([0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 15]);
    expected.extend(b"R.MICROSOFT.COM");
    expected.extend([0, 0, 0, 15]);
    expected.extend(b"AzureFileClient");
    assert_eq!(&bytes[16..16 + expected.len()], expected.as_slice());
    // The ticket as it came, and no second one.
    let mut end = vec![0, 0, 0, 5];
    end.extend(TICKET);
    end.extend([0; 4]);
    assert!(bytes.ends_with(&end));
}

#[test]
fn only_the_owner_reads_a_cache() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kerberos/krb5cc_7");
    let own = folder.path().metadata().unwrap().uid();
    write_cache(&path, own, &read_message(&message(0)).unwrap()).unwrap();
    write_cache(&path, own, &read_message(&message(0)).unwrap()).unwrap();
    let meta = path.metadata().unwrap();
    assert_eq!(meta.permissions().mode() & 0o777, 0o600);
    assert_eq!(path.parent().unwrap().read_dir().unwrap().count(), 1);
}
