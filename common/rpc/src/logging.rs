//! Log lines on standard error, as loud as `-v` says.
//!
//! | verbosity | shown |
//! |---|---|
//! | 0, 1 | warnings and errors |
//! | 2, 3 | calls that change something, with their answers |
//! | 4, 5 | decisions on the way |
//! | 6 and more | calls that poll: Probe, capabilities, stats, listings |
//! | 8 and more | the libraries below as well |

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};

/// Targets of the suite begin with these.
const OURS: [&str; 3] = ["azcsi", "azuredisk", "azurefile"];

/// Logging was set up before.
#[derive(Debug, thiserror::Error)]
#[error("logging is set up already")]
pub struct AlreadySet;

/// The level that a verbosity stands for.
#[must_use]
pub const fn level(verbosity: u8) -> LevelFilter {
    match verbosity {
        0 | 1 => LevelFilter::WARN,
        2 | 3 => LevelFilter::INFO,
        4 | 5 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    }
}

/// What is shown at a verbosity: ours at its level, libraries only from 8 on or with a warning.
#[must_use]
pub fn filter(verbosity: u8) -> Targets {
    let libraries = if verbosity >= 8 {
        LevelFilter::DEBUG
    } else {
        LevelFilter::WARN
    };
    let ours = OURS.map(|target| (target, level(verbosity)));
    Targets::new().with_default(libraries).with_targets(ours)
}

/// A subscriber that writes plain lines to `writer`.
pub fn subscriber<W>(verbosity: u8, writer: W) -> impl tracing::Subscriber + Send + Sync
where
    W: for<'writer> MakeWriter<'writer> + Send + Sync + 'static,
{
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_writer(writer)
        .with_filter(filter(verbosity));
    tracing_subscriber::registry().with(lines)
}

/// Sends the log of the whole process to standard error, panics included.
///
/// # Errors
/// It was done before.
pub fn init(verbosity: u8) -> Result<(), AlreadySet> {
    let subscriber = subscriber(verbosity, std::io::stderr);
    tracing::subscriber::set_global_default(subscriber).map_err(|_| AlreadySet)?;
    std::panic::set_hook(Box::new(|panic| {
        let place = panic
            .location()
            .map(ToString::to_string)
            .unwrap_or_default();
        // Only texts: another payload has nothing that could be shown.
        let payload = panic.payload();
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let text = text.unwrap_or("no text");
        tracing::error!(target: "azcsi", place, "a defect: {text}");
    }));
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use tracing_subscriber::fmt::MakeWriter;

    use super::subscriber;

    #[derive(Clone, Default)]
    struct Memory(Arc<Mutex<Vec<u8>>>);

    impl Write for Memory {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    impl<'a> MakeWriter<'a> for Memory {
        type Writer = Self;

        fn make_writer(&'a self) -> Self {
            self.clone()
        }
    }

    fn shown(verbosity: u8) -> Vec<&'static str> {
        let memory = Memory::default();
        tracing::subscriber::with_default(subscriber(verbosity, memory.clone()), || {
            tracing::warn!(target: "azcsi_rpc::x", "our-warning");
            tracing::info!(target: "azcsi_disk::x", "our-event");
            tracing::debug!(target: "azcsi_cloud::x", "our-decision");
            tracing::trace!(target: "azcsi_rpc::x", "our-poll");
            tracing::warn!(target: "h2::x", "library-warning");
            tracing::debug!(target: "h2::x", "library-detail");
        });
        let text = String::from_utf8(memory.0.lock().unwrap().clone()).unwrap();
        let lines = [
            "our-warning",
            "our-event",
            "our-decision",
            "our-poll",
            "library-warning",
            "library-detail",
        ];
        lines
            .into_iter()
            .filter(|line| text.contains(line))
            .collect()
    }

    #[test]
    fn each_verbosity_adds_its_lines() {
        let quiet = vec!["our-warning", "library-warning"];
        assert_eq!(shown(0), quiet);
        assert_eq!(shown(1), quiet);
        assert_eq!(shown(2), ["our-warning", "our-event", "library-warning"]);
        assert_eq!(
            shown(5),
            [
                "our-warning",
                "our-event",
                "our-decision",
                "library-warning"
            ]
        );
        assert_eq!(shown(7).len(), 5);
        assert_eq!(shown(8).len(), 6);
    }
}
