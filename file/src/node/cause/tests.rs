//! One row for each cause.

use azcsi_host::net_probe::{Port, Resolved};
use azcsi_types::fault::Fault;
use nix::libc;

use super::{Cause, Facts, ShareSays, Who, judge};
use crate::model::protocol::Protocol;

fn good() -> Facts {
    Facts {
        protocol: Protocol::Smb,
        errno: Some(libc::EIO),
        name: Resolved::Addresses(vec!["10.0.0.1".parse().unwrap()]),
        port: Port::Open,
        share: ShareSays::Unknown,
        who: Who::Key,
        in_folder: false,
        has_filesystem: true,
        is_fips: false,
    }
}

fn with(change: impl Fn(&mut Facts)) -> Cause {
    let mut facts = good();
    change(&mut facts);
    judge(&facts)
}

#[test]
fn names_and_ports_come_before_numbers_smb_02() {
    for errno in [
        libc::ENOENT,
        libc::EACCES,
        libc::EINPROGRESS,
        libc::EHOSTDOWN,
    ] {
        let cause = with(|f| {
            f.errno = Some(errno);
            f.name = Resolved::Unknown("no".to_owned());
        });
        assert_eq!(cause, Cause::NameUnknown);
        for (port, expected) in [
            (Port::Silent, Cause::PortBlocked),
            (Port::Refused, Cause::PortRefused),
            (Port::Unreachable, Cause::HostUnreachable),
        ] {
            let cause = with(|f| {
                f.errno = Some(errno);
                f.port = port;
            });
            assert_eq!(cause, expected);
        }
    }
    assert_eq!(with(|f| f.name = Resolved::Silent), Cause::ResolverSilent);
    assert_eq!(with(|f| f.has_filesystem = false), Cause::NoFilesystem);
}

#[test]
fn the_account_s_word_counts_more_than_the_kernel_s_number() {
    for (share, expected) in [
        (ShareSays::Missing, Cause::ShareMissing),
        (ShareSays::KeyRefused, Cause::KeyRefused),
        (ShareSays::KeysOff, Cause::KeysOff),
        (ShareSays::NetworkRule, Cause::NetworkRule),
    ] {
        for errno in [libc::EACCES, libc::ENOENT] {
            let cause = with(|f| {
                f.share = share;
                f.errno = Some(errno);
            });
            assert_eq!(cause, expected);
        }
    }
}

#[test]
fn every_number_has_its_cause() {
    for (errno, expected) in [
        (libc::ENOENT, Cause::ShareMissing),
        (libc::EACCES, Cause::Denied),
        (libc::ENOKEY, Cause::NoTicket),
        (libc::EKEYEXPIRED, Cause::NoTicket),
        (libc::EINVAL, Cause::BadOption),
        (libc::EOPNOTSUPP, Cause::BadOption),
        (libc::EINPROGRESS, Cause::ServerLost),
        (libc::EHOSTDOWN, Cause::ServerLost),
        (libc::EHOSTUNREACH, Cause::ServerLost),
        (libc::ETIMEDOUT, Cause::ServerLost),
        (libc::ENODEV, Cause::NoFilesystem),
        (libc::EIO, Cause::Unclear),
    ] {
        assert_eq!(with(|f| f.errno = Some(errno)), expected, "{errno}");
    }
    assert_eq!(with(|f| f.errno = None), Cause::Hangs);
}

#[test]
fn folders_tickets_nfs_and_fips_are_told_apart_nfs_01_smb_13() {
    let missing = |share, in_folder| {
        with(|f| {
            f.errno = Some(libc::ENOENT);
            f.share = share;
            f.in_folder = in_folder;
        })
    };
    assert_eq!(missing(ShareSays::There, true), Cause::FolderMissing);
    assert_eq!(missing(ShareSays::Unknown, true), Cause::FolderMissing);
    assert_eq!(missing(ShareSays::There, false), Cause::Unclear);
    let denied = |protocol, who, is_fips| {
        with(|f| {
            f.errno = Some(libc::EACCES);
            (f.protocol, f.who, f.is_fips) = (protocol, who, is_fips);
        })
    };
    assert_eq!(denied(Protocol::Smb, Who::Ticket, true), Cause::NoRole);
    assert_eq!(denied(Protocol::Nfs, Who::Nobody, false), Cause::NfsDenied);
    assert_eq!(denied(Protocol::Smb, Who::Key, true), Cause::Fips);
    assert_eq!(Cause::Fips.fault(), Fault::Precondition);
}
