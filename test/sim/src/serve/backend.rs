//! What the shell needs of the world it serves.
//!
//! The shell knows sockets, files, devices and time; the world behind this trait knows Azure.

use std::collections::BTreeMap;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{Request, Response};
use serde_json::Value;

use super::site::Cut;
use crate::imds::document::Instance;
use crate::kubeapi::seed::NodeFacts;
use crate::link::sync::{Desired, Pulled};
use crate::persist::Change;

/// What is to be written.
#[derive(Debug, Default)]
pub struct Changes {
    /// What was touched, key by key.
    pub touched: Vec<Change>,
    /// Prefixes of the keys of which `touched` tells every change.
    pub covered: Vec<String>,
    /// All other keys, with what they hold.
    pub rest: BTreeMap<String, Value>,
}

/// A served world.
pub trait Backend: std::fmt::Debug + Send + Sync + 'static {
    /// Answers a request to ARM.
    fn arm(&self, request: Request<Bytes>) -> BoxFuture<'static, Result<Response<Bytes>, Cut>>;

    /// Answers a request to the control API below `/_sim`; `None` for a path it does not know.
    fn control(&self, request: &Request<Bytes>) -> Option<Response<Bytes>>;

    /// Lets everything happen that is due by now, and gives a number that changes with the world.
    fn settle(&self) -> u64;

    /// What changed of the world since this was last asked, for the journal. What cannot be told
    /// is an error and told the next time: an empty answer would empty the journal.
    fn changes(&self) -> serde_json::Result<Changes>;

    /// The disks, snapshots and attachments that devices are made for.
    fn desired(&self) -> Desired;

    /// The nodes that there are.
    fn nodes(&self) -> Vec<NodeFacts>;

    /// A node's machine, as its metadata service shows it.
    fn instance(&self, node: &str) -> Option<Instance>;

    /// Says where the data plane of files answers, with the account in the path.
    fn files_at(&self, base: &str);

    /// Lets go of contents that the saved world no longer has.
    ///
    /// # Errors
    /// When something cannot be removed.
    fn collect(&self) -> std::io::Result<()>;

    /// Tells the handles of volumes whose disks should be gone by now.
    fn released(&self, handles: Vec<String>);

    /// Notes that a device was taken from someone who used it.
    fn report(&self, pulled: &Pulled);
}
