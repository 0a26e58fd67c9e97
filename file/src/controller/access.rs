//! One way to the shares of an account: through Azure Resource Manager, or through the account's own
//! file service with a key or a token. Which one it is stands in the volume's id, so every later call
//! takes the same, whatever process it comes to.

use azcsi_cloud::storage::data_plane::FilesEndpoint;
use azcsi_cloud::{
    ArmError, Azure, Files, FilesCredential, Metadata, Put, Share, ShareCreate, ShareFilter,
    ShareSnapshot, ShareUpdate, SnapshotsToo,
};
use azcsi_types::account::{AccountName, AccountUri};
use azcsi_types::op::Op;
use azcsi_types::secret::Secret;
use azcsi_types::share::{ShareName, SnapshotTime};

/// A way to the shares of an account.
#[derive(Clone, Debug)]
pub enum Access {
    /// Through Azure Resource Manager.
    Management(Box<Azure>, AccountUri),
    /// Through the file service.
    Data(Files),
}

/// A share and its snapshots.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The share; `None` if there is none.
    pub share: Option<Share>,
    /// Its snapshots, oldest first.
    pub snapshots: Vec<ShareSnapshot>,
}

/// What a create found.
#[derive(Clone, Debug)]
pub enum Created {
    /// The share is new, or this very request made it before its answer was lost.
    Ours,
    /// It was there.
    There,
}

impl Access {
    /// The file service of an account, with its key.
    #[must_use]
    pub fn with_key(azure: &Azure, endpoint: FilesEndpoint, key: Secret) -> Self {
        Self::Data(azure.files(endpoint, FilesCredential::SharedKey(key)))
    }

    /// The file service of an account, with the driver's identity.
    #[must_use]
    pub fn with_identity(azure: &Azure, endpoint: FilesEndpoint) -> Self {
        Self::Data(azure.files(endpoint, FilesCredential::Identity))
    }

    /// A share; `None` only if it is proven that there is none.
    ///
    /// # Errors
    /// If that cannot be told.
    pub async fn find(&self, op: &Op, share: &ShareName) -> Result<Option<Share>, ArmError> {
        let found = match self {
            Self::Management(azure, account) => azure.shares().get(op, account, share).await,
            Self::Data(files) => files.get_share(op, share).await,
        };
        match found {
            Ok(share) => Ok(Some(share)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Creates a share that is known not to exist.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn create(
        &self,
        op: &Op,
        share: &ShareName,
        body: &ShareCreate,
    ) -> Result<Created, ArmError> {
        match self {
            Self::Management(azure, account) => {
                match azure.shares().create(op, account, share, body).await {
                    Ok(Put::New(_)) => Ok(Created::Ours),
                    // An earlier sending of the request: nothing else makes it under this guard.
                    Ok(Put::Existing(_)) => Ok(Created::There),
                    Err(error) if error.is_share_already_there() => Ok(Created::There),
                    Err(error) => Err(error),
                }
            }
            Self::Data(files) => match files.create_share(op, share, body).await {
                Ok(()) => Ok(Created::Ours),
                Err(error) if error.is_share_already_there() => Ok(Created::There),
                Err(error) => Err(error),
            },
        }
    }

    /// Changes a share: what is absent stays as it is.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn update(
        &self,
        op: &Op,
        share: &ShareName,
        body: &ShareUpdate,
    ) -> Result<(), ArmError> {
        match self {
            Self::Management(azure, account) => azure
                .shares()
                .update(op, account, share, body)
                .await
                .map(drop),
            Self::Data(files) => files.update_share(op, share, body).await,
        }
    }

    /// Deletes a share, never with snapshots unless it is said.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn delete(
        &self,
        op: &Op,
        share: &ShareName,
        snapshots: SnapshotsToo,
    ) -> Result<(), ArmError> {
        match self {
            Self::Management(azure, account) => {
                azure.shares().delete(op, account, share, snapshots).await
            }
            Self::Data(files) => files.delete_share(op, share, snapshots).await,
        }
    }

    /// A share and its snapshots, oldest first, in one list. Metadata may be missing in the list of
    /// Azure Resource Manager.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn history(&self, op: &Op, share: &ShareName) -> Result<History, ArmError> {
        let filter = ShareFilter {
            // The filter is a prefix: other shares may begin the same.
            prefix: Some(share.to_string()),
            snapshots: true,
            ..ShareFilter::default()
        };
        let listed = match self {
            Self::Management(azure, account) => azure.shares().list(op, account, &filter).await?,
            Self::Data(files) => files.list_shares(op, &filter).await?,
        };
        let mut history = History::default();
        for entry in listed {
            if !entry.name.eq_ignore_ascii_case(share.as_str()) {
                continue;
            }
            match entry.properties.snapshot_time.clone() {
                Some(time) => history.snapshots.push(ShareSnapshot { time, share: entry }),
                None if entry.properties.deleted => {}
                None => history.share = Some(entry),
            }
        }
        history.snapshots.sort_by(|a, b| a.time.cmp(&b.time));
        Ok(history)
    }

    /// One snapshot with its metadata; `None` only if it is proven that there is none.
    ///
    /// # Errors
    /// If that cannot be told.
    pub async fn snapshot(
        &self,
        op: &Op,
        share: &ShareName,
        time: &SnapshotTime,
    ) -> Result<Option<ShareSnapshot>, ArmError> {
        let found = match self {
            Self::Management(azure, account) => {
                azure
                    .share_snapshots()
                    .get(op, account, (share, time))
                    .await
            }
            Self::Data(files) => files.get_share_snapshot(op, share, time).await,
        };
        match found {
            Ok(snapshot) => Ok(Some(snapshot)),
            Err(error) if error.absence().is_some() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Takes a snapshot; each call takes another one.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn take_snapshot(
        &self,
        op: &Op,
        share: &ShareName,
        metadata: &Metadata,
    ) -> Result<SnapshotTime, ArmError> {
        match self {
            Self::Management(azure, account) => {
                let snapshots = azure.share_snapshots();
                let taken = snapshots.create(op, account, share, metadata).await?;
                Ok(taken.time)
            }
            Self::Data(files) => files.create_share_snapshot(op, share, metadata).await,
        }
    }

    /// Deletes one snapshot, never its share.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub async fn delete_snapshot(
        &self,
        op: &Op,
        share: &ShareName,
        time: &SnapshotTime,
    ) -> Result<(), ArmError> {
        match self {
            Self::Management(azure, account) => {
                azure
                    .share_snapshots()
                    .delete(op, account, (share, time))
                    .await
            }
            Self::Data(files) => files.delete_share_snapshot(op, share, time).await,
        }
    }
}

/// Where the file service of an account is, as far as no account tells another place.
#[must_use]
pub fn endpoint(azure: &Azure, account: &AccountName, suffix: Option<&str>) -> FilesEndpoint {
    match suffix {
        Some(suffix) => FilesEndpoint::with_suffix(suffix, account),
        None => FilesEndpoint::in_cloud(azure.environment(), account),
    }
}
