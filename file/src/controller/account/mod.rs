//! Which storage account a volume gets.
//!
//! | file | holds |
//! |---|---|
//! | [`want`] | what an account has to be like, from the parameters |
//! | [`matching`] | whether an account is like that: every property, one after the other |
//! | [`order`] | in which order the accounts that match are used |
//! | [`creation`] | name and body of a new account |
//! | [`inventory`] | the accounts that there are, and which of them are full |
//!
//! The first four are pure. `file/README.md` has a picture.

pub mod creation;
pub mod inventory;
pub mod matching;
pub mod order;
pub mod want;
