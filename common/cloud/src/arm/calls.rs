//! Requests that need more than a path: a query, a header, an answer whose status matters.

use azcsi_types::op::Op;
use bytes::Bytes;
use http::{Method, Response, StatusCode};
use serde::de::DeserializeOwned;

use super::client::{ArmClient, decode};
use super::error::ArmError;
use super::request::ArmRequest;
use crate::environment::ApiFamily;

/// What a create found in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Put<T> {
    /// Nothing; it is made now.
    New(T),
    /// Something of that name, perhaps made by an earlier sending of this very request.
    Existing(T),
}

impl<T> Put<T> {
    /// What Azure answered, whichever it was.
    pub fn into_inner(self) -> T {
        match self {
            Self::New(value) | Self::Existing(value) => value,
        }
    }

    /// Whether it was made by this request for sure.
    #[must_use]
    pub const fn is_new(&self) -> bool {
        matches!(self, Self::New(_))
    }

    pub(crate) fn by_status(response: &Response<Bytes>, value: T) -> Self {
        if response.status() == StatusCode::CREATED {
            Self::New(value)
        } else {
            Self::Existing(value)
        }
    }
}

impl ArmClient {
    /// A request of the family's API version.
    pub(crate) fn prepare(
        &self,
        method: Method,
        family: ApiFamily,
        path: &str,
        query: &[(&str, &str)],
    ) -> ArmRequest {
        ArmRequest::new(self.environment(), method, family, path, query)
    }

    /// Sends a request that Azure answers at once, and reads the answer.
    pub(crate) async fn ask<T: DeserializeOwned>(
        &self,
        op: &Op,
        request: &ArmRequest,
    ) -> Result<T, ArmError> {
        let response = self.send(op, request).await?;
        decode(&response).map_err(|error| error.during(|| request.name()))
    }

    /// Sends a create that Azure answers at once; its status tells whether there was something.
    pub(crate) async fn ask_new<T: DeserializeOwned>(
        &self,
        op: &Op,
        request: &ArmRequest,
    ) -> Result<Put<T>, ArmError> {
        let response = self.send(op, request).await?;
        let value = decode(&response).map_err(|error| error.during(|| request.name()))?;
        Ok(Put::by_status(&response, value))
    }

    /// Sends a delete that Azure carries out at once. What is absent is gone, and so is what was
    /// part of something absent.
    pub(crate) async fn remove(&self, op: &Op, request: &ArmRequest) -> Result<(), ArmError> {
        match self.send(op, request).await {
            Ok(_) => Ok(()),
            Err(error) if error.absence().is_some() => Ok(()),
            Err(error) => Err(error),
        }
    }
}
