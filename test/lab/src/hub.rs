//! The network of the machines: one switch in this process, one cable per machine.
//!
//! QEMU's socket network sends each frame behind its length, four bytes, high byte first. Every
//! frame goes to all other machines. A cable can be cut; then frames are lost both ways and the
//! machine's card still says that it has a link, as in a real partition.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Frames that may wait for a slow machine; more are lost, as on a wire.
const QUEUE: usize = 1024;
const LONGEST: usize = 1 << 16;

#[derive(Debug)]
struct Cable {
    frames: Option<mpsc::Sender<Arc<[u8]>>>,
    is_cut: bool,
}

type Cables = Arc<Mutex<BTreeMap<String, Cable>>>;

/// The switch.
#[derive(Clone, Debug, Default)]
pub struct Hub {
    cables: Cables,
}

/// The end of a cable that a machine is plugged into.
#[derive(Debug)]
pub struct Plug {
    /// Port on the loopback.
    pub port: u16,
    task: JoinHandle<()>,
}

impl Drop for Plug {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Hub {
    /// Lays a cable for a machine.
    ///
    /// # Errors
    /// When no port is free.
    pub async fn plug(&self, name: &str) -> Result<Plug> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let port = listener.local_addr()?.port();
        let cable = Cable {
            frames: None,
            is_cut: false,
        };
        lock(&self.cables).insert(name.to_owned(), cable);
        let task = tokio::spawn(serve(listener, name.to_owned(), Arc::clone(&self.cables)));
        Ok(Plug { port, task })
    }

    /// Cuts the cable of a machine.
    pub fn cut(&self, name: &str) {
        self.set_cut(name, true);
    }

    /// Mends it.
    pub fn mend(&self, name: &str) {
        self.set_cut(name, false);
    }

    fn set_cut(&self, name: &str, is_cut: bool) {
        if let Some(cable) = lock(&self.cables).get_mut(name) {
            cable.is_cut = is_cut;
        }
    }
}

fn lock(cables: &Cables) -> MutexGuard<'_, BTreeMap<String, Cable>> {
    cables.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One machine after another comes to the same cable: each start of a machine is a connection.
async fn serve(listener: TcpListener, name: String, cables: Cables) {
    while let Ok((stream, _)) = listener.accept().await {
        // Frames are small and wait for answers.
        let _ = stream.set_nodelay(true);
        carry(stream, &name, &cables).await;
    }
}

async fn carry(stream: TcpStream, name: &str, cables: &Cables) {
    let (reader, writer) = stream.into_split();
    let (sender, frames) = mpsc::channel(QUEUE);
    if let Some(cable) = lock(cables).get_mut(name) {
        cable.frames = Some(sender);
    }
    tokio::select! {
        _ = receive(reader, name, cables) => {}
        _ = deliver(writer, frames) => {}
    }
    if let Some(cable) = lock(cables).get_mut(name) {
        cable.frames = None;
    }
}

async fn receive(mut reader: OwnedReadHalf, name: &str, cables: &Cables) -> Result<()> {
    loop {
        let length = usize::try_from(reader.read_u32().await?)?;
        anyhow::ensure!(length <= LONGEST, "a frame of {length} bytes");
        let mut frame = vec![0; length];
        reader.read_exact(&mut frame).await?;
        spread(&frame.into(), name, cables);
    }
}

fn spread(frame: &Arc<[u8]>, from: &str, cables: &Cables) {
    let cables = lock(cables);
    if cables.get(from).is_none_or(|cable| cable.is_cut) {
        return;
    }
    let others = cables
        .iter()
        .filter(|(name, cable)| name.as_str() != from && !cable.is_cut);
    for sender in others.filter_map(|(_, cable)| cable.frames.as_ref()) {
        // A full queue loses the frame; TCP inside the machines repeats it.
        let _ = sender.try_send(Arc::clone(frame));
    }
}

async fn deliver(mut writer: OwnedWriteHalf, mut frames: mpsc::Receiver<Arc<[u8]>>) -> Result<()> {
    while let Some(frame) = frames.recv().await {
        writer.write_u32(u32::try_from(frame.len())?).await?;
        writer.write_all(&frame).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn send(stream: &mut TcpStream, frame: &[u8]) {
        stream
            .write_u32(u32::try_from(frame.len()).unwrap())
            .await
            .unwrap();
        stream.write_all(frame).await.unwrap();
    }

    async fn receive(stream: &mut TcpStream) -> Vec<u8> {
        let length = stream.read_u32().await.unwrap();
        let mut frame = vec![0; usize::try_from(length).unwrap()];
        stream.read_exact(&mut frame).await.unwrap();
        frame
    }

    /// A machine whose cable carries: its frame reaches the other.
    async fn join(hub: &Hub, name: &str) -> (Plug, TcpStream) {
        let plug = hub.plug(name).await.unwrap();
        let stream = TcpStream::connect(("127.0.0.1", plug.port)).await.unwrap();
        while lock(&hub.cables)[name].frames.is_none() {
            tokio::task::yield_now().await;
        }
        (plug, stream)
    }

    #[tokio::test]
    async fn frames_reach_the_others_and_not_the_sender_and_not_through_a_cut_cable() {
        let hub = Hub::default();
        let (_a, mut one) = join(&hub, "one").await;
        let (_b, mut two) = join(&hub, "two").await;
        send(&mut one, b"first").await;
        assert_eq!(receive(&mut two).await, b"first");
        hub.cut("two");
        send(&mut one, b"lost").await;
        send(&mut two, b"lost too").await;
        // A third machine shows that the lost frame was handled.
        let (_c, mut three) = join(&hub, "three").await;
        send(&mut one, b"second").await;
        assert_eq!(receive(&mut three).await, b"second");
        hub.mend("two");
        send(&mut one, b"third").await;
        let mut got = receive(&mut two).await;
        if got == b"second" {
            got = receive(&mut two).await;
        }
        assert_eq!(got, b"third");
    }
}
