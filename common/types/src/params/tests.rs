//! Tests of `params`.

use super::{BadParam, ParamMap};

fn map(entries: &[(&str, &str)]) -> Result<ParamMap, BadParam> {
    ParamMap::new(entries.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())))
}

#[test]
fn keys_ignore_case_and_are_taken_once() {
    let mut params = map(&[("SkuName", "Premium_LRS")]).unwrap();
    assert_eq!(params.take("skuname").unwrap().value, "Premium_LRS");
    assert_eq!(params.take("skuname"), None);
    assert_eq!(params.finish(), Ok(()));
}

#[test]
fn two_spellings_of_one_key_are_refused() {
    let error = map(&[("skuName", "a"), ("skuname", "b")]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "parameter 'skuName' is given twice: also as 'skuname'"
    );
    let mut aliases = map(&[("skuName", "a"), ("storageAccountType", "b")]).unwrap();
    assert!(
        aliases
            .take_any(&["skuname", "storageaccounttype"])
            .is_err()
    );
}

#[test]
fn what_is_not_understood_is_refused_with_a_suggestion() {
    let mut params = map(&[("cachingMod", "None")]).unwrap();
    assert_eq!(params.take("cachingMode"), None);
    let error = params.finish().unwrap_err();
    assert_eq!(
        error.to_string(),
        "unknown parameter 'cachingMod': did you mean 'cachingMode'?"
    );
    let error = map(&[("XXX_FakeKey", "v")]).unwrap().finish().unwrap_err();
    assert_eq!(error.to_string(), "unknown parameter 'XXX_FakeKey'");
}

#[test]
fn a_bad_value_names_key_value_and_what_is_allowed() {
    let mut params = map(&[("enableBursting", "yes"), ("cachingMode", "RO")]).unwrap();
    let error = params.take("enablebursting").unwrap().flag().unwrap_err();
    assert_eq!(
        error.to_string(),
        "parameter 'enableBursting' is 'yes': expected true or false"
    );
    let error = params
        .take("cachingmode")
        .unwrap()
        .one_of(&[("None", 0), ("ReadOnly", 1)])
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "parameter 'cachingMode' is 'RO': expected one of None, ReadOnly"
    );
}

#[test]
fn mutable_parameters_win() {
    let base = map(&[("a", "1"), ("B", "1")]).unwrap();
    let mut both = base.overlay(map(&[("b", "2")]).unwrap());
    assert_eq!(both.take("a").unwrap().value, "1");
    assert_eq!(both.take("b").unwrap().value, "2");
}

#[test]
fn prefixed_keys_are_taken_together() {
    let mut params = map(&[("device-setting/queue/Scheduler", "none"), ("x", "1")]).unwrap();
    let taken = params.take_prefixed("device-setting/");
    assert_eq!(taken, [("queue/scheduler".to_owned(), "none".to_owned())]);
    assert!(params.finish().is_err());
}
