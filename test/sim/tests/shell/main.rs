//! Everything around the core of the simulator, one test binary: tokens, metadata, world files,
//! devices, the Kubernetes stub and the running binary.

#[cfg(test)]
mod binary;
#[cfg(test)]
mod entra;
#[cfg(test)]
mod imds;
#[cfg(test)]
mod kubeapi;
#[cfg(test)]
mod kubeclient;
#[cfg(test)]
mod link;
#[cfg(test)]
mod rest;
#[cfg(test)]
mod serve;
#[cfg(test)]
mod shelf;
#[cfg(test)]
mod site;
#[cfg(test)]
mod support;
#[cfg(test)]
mod worldfile;
