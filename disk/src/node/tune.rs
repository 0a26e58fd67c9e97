//! Tuning of a device while it is staged. Best effort: a volume that is not tuned still works.

use azcsi_host::devices::Transport;
use azcsi_host::tune::Settings;
use azcsi_types::op::Op;
use azcsi_types::size::{Bytes, GiB};

use super::Node;
use super::device::Proven;
use super::machine::Look;
use super::perf::{self, Profile, Rate};
use super::stage_request::Request;

/// Makes the queue settings that the volume wants, and looks at the command timeout.
pub(super) async fn device(node: &Node, op: &Op, request: &Request, proven: &Proven) {
    warn_of_timeout(node, request, proven);
    let wish = &request.context.perf;
    if !node.config.tune || wish.profile == Profile::None {
        return;
    }
    let size = request.context.requested.or_else(|| size(proven));
    let machine = match wish.profile {
        Profile::Basic => machine(node).await,
        Profile::None | Profile::Advanced(_) => None,
    };
    let wanted = perf::settings(wish, size.unwrap_or_default(), machine);
    // NVMe has a queue for each processor, and no depth to set.
    let is_nvme = proven.disk().transport == Transport::Nvme;
    let wanted = wanted
        .into_iter()
        .filter(|(name, _)| !(is_nvme && name == "device/queue_depth"));
    let (settings, refused) = Settings::new(wanted);
    let mut failed = node.powers.tune.apply(op, proven.disk(), &settings);
    failed.extend(
        refused
            .into_iter()
            .map(|name| format!("'{name}' is no setting that a class may make")),
    );
    if !failed.is_empty() {
        let text = format!(
            "volume '{}' works, but some queue settings of its perfProfile were not made: {}",
            request.volume.as_str(),
            failed.join("; ")
        );
        node.tell_flaw(request, "TuningFailed", &text);
    }
}

/// What the machine's disks can do, by its size. The metadata are asked first, then the labels.
async fn machine(node: &Node) -> Option<Rate> {
    let size = match node.machine.facts(Look::Recent).await {
        Ok(facts) if !facts.size.is_empty() => Some(facts.size.clone()),
        _ => node.labels.labels().await.ok()?.instance_type,
    };
    perf::of_machine(&size?)
}

fn size(proven: &Proven) -> Option<GiB> {
    let bytes = proven.guard.size().ok()?;
    Some(Bytes::new(bytes).ceil())
}

/// Azure's host repeats commands for minutes. A guest that gives up earlier makes a filesystem
/// read-only for a maintenance that it could have waited for.
fn warn_of_timeout(node: &Node, request: &Request, proven: &Proven) {
    let disk = proven.disk();
    let Some(found) = node.powers.devices.impatient(disk) else {
        return;
    };
    let text = format!(
        "device '{}' gives up on a command after {} s; Azure may need {} s, and an earlier end \
         becomes an I/O error: install azure-vm-utils or the udev rules of the Azure agent",
        disk.name,
        found.is.as_secs(),
        found.should_be.as_secs()
    );
    node.tell_flaw(request, "ShortDeviceTimeout", &text);
}
