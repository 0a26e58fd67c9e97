//! The converter against a cluster: the stub of the Kubernetes API with its controllers.

#![cfg(test)]

mod adversaries;
mod cluster;
mod golden;
mod kills;
mod translate;
mod walk;
