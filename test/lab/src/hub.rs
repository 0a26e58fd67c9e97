//! The network of the machines: one switch in this process, one cable per machine.
//!
//! QEMU's socket network sends each frame behind its length, four bytes, high byte first. Every
//! frame goes to all other machines. A cable can be cut; then frames are lost both ways and the
//! machine's card still says that it has a link, as in a real partition.

use std::collections::{BTreeMap, BTreeSet};
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

/// What the switch knows.
#[derive(Debug, Default)]
struct Wiring {
    cables: BTreeMap<String, Cable>,
    /// TCP ports whose frames are dropped, as a firewall on the way does.
    blocked: BTreeSet<u16>,
}

type Shared = Arc<Mutex<Wiring>>;

/// The switch.
#[derive(Clone, Debug, Default)]
pub struct Hub {
    wiring: Shared,
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
        lock(&self.wiring).cables.insert(name.to_owned(), cable);
        let task = tokio::spawn(serve(listener, name.to_owned(), Arc::clone(&self.wiring)));
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

    /// Drops everything to and from a TCP port from now on.
    pub fn block(&self, port: u16) {
        lock(&self.wiring).blocked.insert(port);
    }

    /// Lets it through again.
    pub fn unblock(&self, port: u16) {
        lock(&self.wiring).blocked.remove(&port);
    }

    fn set_cut(&self, name: &str, is_cut: bool) {
        if let Some(cable) = lock(&self.wiring).cables.get_mut(name) {
            cable.is_cut = is_cut;
        }
    }
}

fn lock(wiring: &Shared) -> MutexGuard<'_, Wiring> {
    wiring.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One machine after another comes to the same cable: each start of a machine is a connection.
async fn serve(listener: TcpListener, name: String, wiring: Shared) {
    while let Ok((stream, _)) = listener.accept().await {
        // Frames are small and wait for answers.
        let _ = stream.set_nodelay(true);
        carry(stream, &name, &wiring).await;
    }
}

async fn carry(stream: TcpStream, name: &str, wiring: &Shared) {
    let (reader, writer) = stream.into_split();
    let (sender, frames) = mpsc::channel(QUEUE);
    if let Some(cable) = lock(wiring).cables.get_mut(name) {
        cable.frames = Some(sender);
    }
    tokio::select! {
        _ = receive(reader, name, wiring) => {}
        _ = deliver(writer, frames) => {}
    }
    if let Some(cable) = lock(wiring).cables.get_mut(name) {
        cable.frames = None;
    }
}

async fn receive(mut reader: OwnedReadHalf, name: &str, wiring: &Shared) -> Result<()> {
    loop {
        let length = usize::try_from(reader.read_u32().await?)?;
        anyhow::ensure!(length <= LONGEST, "a frame of {length} bytes");
        let mut frame = vec![0; length];
        reader.read_exact(&mut frame).await?;
        spread(&frame.into(), name, wiring);
    }
}

fn spread(frame: &Arc<[u8]>, from: &str, wiring: &Shared) {
    let wiring = lock(wiring);
    let is_blocked = |port: &u16| wiring.blocked.contains(port);
    if ports(frame).iter().flatten().any(is_blocked) {
        return;
    }
    let cables = &wiring.cables;
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

/// The two ports of a frame of TCP over IPv4.
fn ports(frame: &[u8]) -> Option<[u16; 2]> {
    const ETHERNET: usize = 14;
    let packet = frame.get(ETHERNET..)?;
    let is_tcp = frame.get(12..14)? == [8, 0] && *packet.get(9)? == 6;
    let start = usize::from(packet.first()? & 15) * 4;
    let &[a, b, c, d] = packet.get(start..start + 4)? else {
        return None;
    };
    is_tcp.then(|| [u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])])
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
        while lock(&hub.wiring).cables[name].frames.is_none() {
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

    #[test]
    fn ports_are_those_of_tcp_and_nothing_else() {
        let mut frame = vec![0; 54];
        frame[12] = 8;
        frame[14] = 0x45;
        frame[23] = 6;
        frame[34..38].copy_from_slice(&[0xc0, 0, 1, 0xbd]);
        assert_eq!(ports(&frame), Some([49152, 445]));
        frame[23] = 17;
        assert_eq!(ports(&frame), None);
        assert_eq!(ports(&frame[..30]), None);
    }
}
