//! Tests of `sas`.
//!
//! The forms are those of "Create an account SAS" and "Create a service SAS" (REST reference of the
//! storage services). Each signature was computed apart from this crate with the HMAC of Python's
//! standard library, and the official Python client gives the same for the same input.

use std::time::{Duration, SystemTime};

use azcsi_types::account::AccountName;
use azcsi_types::secret::Secret;

use super::{Sas, SasPermissions, SasProtocols};
use crate::storage::data_plane::SharePath;
use crate::testing::ACCOUNT_KEY;

fn account() -> AccountName {
    "examplefiles01".parse().unwrap()
}

/// 2026-03-03T09:00:00Z and so many hours.
fn hours(hours: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(1_772_528_400_999 + hours * 3_600_000)
}

const ALL: SasPermissions = SasPermissions {
    read: true,
    write: true,
    delete: true,
    list: true,
    create: true,
};

fn sas(permissions: SasPermissions, starts: Option<SystemTime>) -> Sas {
    Sas {
        permissions,
        starts,
        expires: hours(12),
        protocols: SasProtocols::Https,
    }
}

#[test]
fn a_signature_for_an_account_is_as_computed_elsewhere() {
    let made = sas(ALL, Some(hours(0)))
        .for_account(&account(), &Secret::new(ACCOUNT_KEY))
        .unwrap();
    assert_eq!(
        made.expose(),
        "sv=2024-11-04&ss=f&srt=sco&sp=rwdlc&st=2026-03-03T09%3A00%3A00Z&se=2026-03-03T21%3A00%3A00Z&spr=https&sig=znLYGTTlTQreWaW9KomYZomBeClRmb1afVI%2FUOsKHSg%3D"
    );
}

#[test]
fn a_signature_for_a_share_is_as_computed_elsewhere() {
    let key = Secret::new(ACCOUNT_KEY);
    let share = "pvc-0001".parse().unwrap();
    let made = sas(ALL, Some(hours(0)))
        .for_share((&account(), &key), &share, &SharePath::root())
        .unwrap();
    assert_eq!(
        made.expose(),
        "sv=2024-11-04&sr=s&sp=rcwdl&st=2026-03-03T09%3A00%3A00Z&se=2026-03-03T21%3A00%3A00Z&spr=https&sig=fFKEq%2BRVj3IzP4lt%2Ffo2wXWGUeImd5zndPLQ3%2FbUqOc%3D"
    );
}

#[test]
fn a_signature_for_a_file_may_begin_at_once() {
    let key = Secret::new(ACCOUNT_KEY);
    let only_read = SasPermissions {
        list: false,
        ..SasPermissions::read_only()
    };
    let share = "pvc-0001".parse().unwrap();
    let path = "d ä/f".parse().unwrap();
    let made = sas(only_read, None)
        .for_share((&account(), &key), &share, &path)
        .unwrap();
    assert_eq!(
        made.expose(),
        "sv=2024-11-04&sr=f&sp=r&se=2026-03-03T21%3A00%3A00Z&spr=https&sig=f%2Bx2%2FC%2BXlORccSPuAg6A%2BXrZ%2BAu%2Fir8GtUMl9hxe0l0%3D"
    );
}

#[test]
fn what_cannot_be_signed_is_refused_without_showing_the_key() {
    let far = Sas {
        expires: SystemTime::UNIX_EPOCH + Duration::from_secs(300_000_000_000),
        ..sas(ALL, None)
    };
    assert!(
        far.for_account(&account(), &Secret::new(ACCOUNT_KEY))
            .is_err()
    );
    let error = sas(ALL, None)
        .for_account(&account(), &Secret::new("geheim!"))
        .unwrap_err();
    assert!(!format!("{error} {error:?}").contains("geheim"));
}
