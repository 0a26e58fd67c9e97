//! The running account: what was asked, what Azure did, what the kernel did, how long it took.
//!
//! Colour where the terminal can, plain text where it cannot (`NO_COLOR`, a pipe, a dumb terminal).

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Where the account goes, and how it may look.
#[derive(Debug)]
pub(crate) struct Narrator {
    colour: bool,
    began: Instant,
}

/// One step's figures, for the account and for the summary.
#[derive(Clone, Debug)]
pub(crate) struct Figures {
    /// The RPC.
    pub(crate) rpc: &'static str,
    /// Wall time of the call.
    pub(crate) took: Duration,
    /// Requests that reached Azure meanwhile, as `VERB what`.
    pub(crate) azure: Vec<String>,
}

#[derive(Clone, Copy)]
enum Ink {
    Bold,
    Dim,
    Green,
    Blue,
    Yellow,
    Red,
}

impl Ink {
    const fn code(self) -> &'static str {
        match self {
            Self::Bold => "1",
            Self::Dim => "2",
            Self::Green => "32",
            Self::Blue => "34",
            Self::Yellow => "33",
            Self::Red => "31",
        }
    }
}

/// A line that counts the seconds of a call; it disappears with the value.
#[derive(Debug)]
pub(crate) struct Waiting(tokio::task::JoinHandle<()>);

/// How often the line is written anew, and how long a call may take before there is one.
const TICK: Duration = Duration::from_millis(250);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.abort();
        let mut out = std::io::stdout().lock();
        let _ = write!(out, "\r\x1b[2K");
        let _ = out.flush();
    }
}

async fn count_seconds(rpc: &'static str) {
    let mut passed = Duration::ZERO;
    loop {
        tokio::time::sleep(TICK).await;
        passed += TICK;
        let mut out = std::io::stdout().lock();
        let _ = write!(out, "\r   {rpc} … {:.1} s", passed.as_secs_f64());
        let _ = out.flush();
    }
}

/// The requests in order, each kind of a run once with its number, in the words of a reader.
fn shown(requests: &[String]) -> String {
    let mut runs: Vec<(String, usize)> = Vec::new();
    for request in requests {
        let short = request.replace("virtualMachineScaleSets/virtualMachines", "virtualMachines");
        let short = short.replace(
            "virtualMachines/attachDetachDataDisks",
            "attachDetachDataDisks",
        );
        match runs.last_mut() {
            Some((last, count)) if *last == short => *count += 1,
            _ => runs.push((short, 1)),
        }
    }
    let shown = runs.into_iter().map(|(request, count)| match count {
        1 => request,
        _ => format!("{request} × {count}"),
    });
    shown.collect::<Vec<_>>().join(", ")
}

impl Narrator {
    /// Looks at the terminal once. `plain` wins over everything.
    #[expect(
        clippy::disallowed_methods,
        reason = "a person's stopwatch, and the terminal's own variables"
    )]
    pub(crate) fn new(plain: Plain) -> Self {
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        let colour =
            plain == Plain::No && std::io::stdout().is_terminal() && !set("NO_COLOR") && !dumb;
        Self {
            colour,
            began: Instant::now(),
        }
    }

    fn paint(&self, ink: Ink, text: &str) -> String {
        if self.colour {
            format!("\x1b[{}m{text}\x1b[0m", ink.code())
        } else {
            text.to_owned()
        }
    }

    fn line(&self, text: &str) {
        // A reader that has gone away must not stop the demo before it has cleaned up.
        let mut out = std::io::stdout().lock();
        let _ = writeln!(out, "{text}");
        let _ = out.flush();
    }

    /// Counts the seconds of a call where a line can be written anew.
    pub(crate) fn waiting(&self, rpc: &'static str) -> Option<Waiting> {
        self.colour
            .then(|| Waiting(tokio::spawn(count_seconds(rpc))))
    }

    /// A headline with the sentence that says what is about to be shown.
    pub(crate) fn chapter(&self, title: &str, sentence: &str) {
        self.line("");
        self.line(&self.paint(Ink::Bold, &format!("== {title}")));
        self.line(&self.paint(Ink::Dim, &format!("   {sentence}")));
    }

    /// Something that happened outside an RPC.
    pub(crate) fn note(&self, text: &str) {
        self.line(&format!("   {text}"));
    }

    /// What the kernel shows now.
    pub(crate) fn kernel(&self, text: &str) {
        self.line(&format!(
            "     {} {text}",
            self.paint(Ink::Yellow, "kernel")
        ));
    }

    /// A check that held.
    pub(crate) fn verified(&self, text: &str) {
        self.line(&format!(
            "     {} {text}",
            self.paint(Ink::Green, "verified")
        ));
    }

    /// One call: what was asked, what Azure did, how long it took.
    pub(crate) fn call(&self, who: &str, what: &str, figures: &Figures) {
        let head = self.paint(Ink::Blue, figures.rpc);
        let took = format!("{:.2} s", figures.took.as_secs_f64());
        self.line(&format!(
            "   {head} {} {what}  {}",
            self.paint(Ink::Dim, who),
            self.paint(Ink::Dim, &took)
        ));
        if !figures.azure.is_empty() {
            self.line(&format!(
                "     {} {}",
                self.paint(Ink::Yellow, "azure"),
                shown(&figures.azure)
            ));
        }
    }

    /// The end: a table of all calls.
    pub(crate) fn summary(&self, calls: &[Figures], lines: &[(String, String)]) {
        self.line("");
        self.line(&self.paint(Ink::Bold, "== Summary"));
        let mut names: Vec<&'static str> = Vec::new();
        for call in calls {
            if !names.contains(&call.rpc) {
                names.push(call.rpc);
            }
        }
        self.line(&format!(
            "   {:<28} {:>5} {:>9} {:>14}",
            "RPC", "calls", "slowest", "ARM requests"
        ));
        for name in names {
            let of: Vec<_> = calls.iter().filter(|call| call.rpc == name).collect();
            let slowest = of.iter().map(|call| call.took).max().unwrap_or_default();
            let requests: usize = of.iter().map(|call| call.azure.len()).sum();
            self.line(&format!(
                "   {name:<28} {:>5} {:>7.2} s {requests:>14}",
                of.len(),
                slowest.as_secs_f64()
            ));
        }
        self.line("");
        for (what, value) in lines {
            self.line(&format!("   {what:<28} {value}"));
        }
        self.line(&format!(
            "   {:<28} {:.1} s",
            "elapsed",
            self.began.elapsed().as_secs_f64()
        ));
    }

    /// The last line of a good end.
    pub(crate) fn success(&self, text: &str) {
        self.line("");
        self.line(&self.paint(Ink::Green, text));
    }

    /// The last line of a bad end.
    pub(crate) fn failure(&self, text: &str) {
        self.line("");
        self.line(&self.paint(Ink::Red, text));
    }
}

/// Whether the account must be plain text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plain {
    /// As the terminal allows.
    No,
    /// Always plain.
    Yes,
}
