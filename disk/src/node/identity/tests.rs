//! Every row of the table.

use azcsi_host::devices::Class;

use super::{
    Evidence, Hardware, IdentityCheck, InSlot, Trust, Verdict, decide, published, recorded,
};

fn evidence(slot: InSlot) -> Evidence {
    Evidence {
        class: Class::Data,
        slot,
        published: Hardware::Unknown,
        recorded: Hardware::Unknown,
        is_large_enough: true,
        owner: None,
    }
}

fn strict(evidence: &Evidence) -> Verdict {
    decide(evidence, IdentityCheck::Strict)
}

#[test]
fn what_azure_confirms_may_be_formatted() {
    for class in [Class::Data, Class::Unknown] {
        let mut facts = evidence(InSlot::Ours);
        facts.class = class;
        assert_eq!(strict(&facts), Verdict::Proceed(Trust::Proven));
        facts.recorded = Hardware::Equal;
        assert_eq!(strict(&facts), Verdict::Proceed(Trust::Proven));
    }
}

#[test]
fn another_disk_in_the_slot_is_never_used() {
    for hardware in [Hardware::Equal, Hardware::Unknown] {
        for check in [IdentityCheck::Strict, IdentityCheck::Compat] {
            let mut facts = evidence(InSlot::Other("x".to_owned()));
            facts.published = hardware;
            facts.recorded = hardware;
            assert!(matches!(decide(&facts, check), Verdict::WaitThenRefuse(_)));
        }
    }
}

#[test]
fn an_empty_slot_is_waited_for() {
    let mut facts = evidence(InSlot::Nothing);
    facts.recorded = Hardware::Equal;
    assert!(matches!(strict(&facts), Verdict::Wait(_)));
}

#[test]
fn without_metadata_older_evidence_counts() {
    let mut facts = evidence(InSlot::Unknown);
    facts.recorded = Hardware::Equal;
    assert_eq!(strict(&facts), Verdict::Proceed(Trust::Known));
    facts.published = Hardware::Equal;
    assert_eq!(strict(&facts), Verdict::Proceed(Trust::Proven));
}

#[test]
fn without_any_evidence_strict_waits_and_compat_only_mounts() {
    let facts = evidence(InSlot::Unknown);
    assert!(matches!(strict(&facts), Verdict::Wait(_)));
    let compat = decide(&facts, IdentityCheck::Compat);
    assert_eq!(compat, Verdict::Proceed(Trust::Unproven));
}

#[test]
fn a_link_alone_is_no_evidence() {
    let mut facts = evidence(InSlot::Unknown);
    facts.class = Class::Unknown;
    facts.recorded = Hardware::Equal;
    assert!(matches!(
        decide(&facts, IdentityCheck::Compat),
        Verdict::Wait(_)
    ));
}

#[test]
fn contradictions_and_other_owners_are_refused_whatever_else_is_said() {
    for slot in [
        InSlot::Ours,
        InSlot::Nothing,
        InSlot::Unknown,
        InSlot::Other("x".to_owned()),
    ] {
        let changes: [fn(&mut Evidence); 3] = [
            |facts| facts.published = Hardware::Different,
            |facts| facts.recorded = Hardware::Different,
            |facts| facts.owner = Some("other".to_owned()),
        ];
        for change in changes {
            let mut facts = evidence(slot.clone());
            change(&mut facts);
            let verdict = decide(&facts, IdentityCheck::Compat);
            assert!(matches!(verdict, Verdict::Refuse(_)), "{facts:?}");
        }
    }
}

#[test]
fn a_small_device_may_be_one_that_has_not_grown_yet() {
    for slot in [InSlot::Ours, InSlot::Unknown] {
        let mut facts = evidence(slot);
        facts.is_large_enough = false;
        assert!(matches!(
            decide(&facts, IdentityCheck::Compat),
            Verdict::Wait(_)
        ));
    }
}

#[test]
fn hardware_names_are_compared_in_both_byte_orders() {
    let unique = "c92309a5-ab2b-40da-974b-ef49ae8828f0";
    let straight = "naa.c92309a5ab2b40da974bef49ae8828f0";
    let mixed = "t10.MSFT a50923c92babda40974bef49ae8828f0";
    for seen in [straight, mixed] {
        assert_eq!(published(Some(seen), Some(unique)), Hardware::Equal);
    }
    for (seen, wanted) in [
        (Some("naa.1"), Some(unique)),
        (None, Some(unique)),
        (Some(mixed), None),
    ] {
        assert_eq!(published(seen, wanted), Hardware::Unknown);
    }
    assert_eq!(recorded(Some("a"), Some("a")), Hardware::Equal);
    assert_eq!(recorded(Some("a"), Some("b")), Hardware::Different);
    assert_eq!(recorded(None, Some("b")), Hardware::Unknown);
}
