//! Kerberos tickets: from the message that a server hands out (KRB-CRED, RFC 4120 section 5.8) to
//! the file that the kernel's helper reads (MIT credential cache, version 4).
//!
//! Only a message that is not encrypted is read (encryption type 0): it arrives over TLS.

mod cache;
mod der;

use azcsi_types::secret::Secret;

pub use cache::write_cache;
use der::{Element, Reader};

/// A name of Kerberos.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// What kind of name it is.
    pub kind: u32,
    /// The realm.
    pub realm: String,
    /// The parts.
    pub parts: Vec<String>,
}

/// A ticket with its session key.
#[derive(Clone)]
pub struct Ticket {
    /// Whose it is.
    pub client: Principal,
    /// For which service.
    pub server: Principal,
    /// The kind of the session key.
    pub key_type: u16,
    key: Vec<u8>,
    /// Seconds since 1970 at which it was granted.
    pub granted: u32,
    /// Seconds since 1970 from which it is good.
    pub begins: u32,
    /// Seconds since 1970 at which it ends.
    pub ends: u32,
    /// Seconds since 1970 until which it may be renewed; 0 for never.
    pub renewable: u32,
    /// Its flags, the first in the highest bit.
    pub flags: u32,
    encoded: Vec<u8>,
}

impl std::fmt::Debug for Ticket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Ticket({:?}, ends {})", self.server, self.ends)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.key.fill(0);
        std::hint::black_box(&self.key);
    }
}

/// A text that is no such message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the Kerberos ticket cannot be read: {0}")]
pub struct NotATicket(pub(crate) &'static str);

/// Reads the tickets of a message.
///
/// # Errors
/// When it is not such a message, is encrypted, or holds no ticket. No error shows any of it.
pub fn read_message(message: &[u8]) -> Result<Vec<Ticket>, NotATicket> {
    let mut outer = Reader::new(message);
    let message = outer.expect(0x76, "it is no KRB-CRED message")?;
    let mut body = message.reader().expect(0x30, "it has no body")?.reader();
    let mut tickets = Vec::new();
    let mut infos = Vec::new();
    while let Some(field) = body.next()? {
        match field.tag {
            0xa2 => tickets = field.reader().list()?,
            0xa3 => infos = infos_of(&field)?,
            _ => {}
        }
    }
    if tickets.is_empty() || tickets.len() != infos.len() {
        return Err(NotATicket("it has not one description for each ticket"));
    }
    let all = tickets.iter().zip(&infos);
    all.map(|(ticket, info)| ticket_of(ticket, info)).collect()
}

/// The descriptions, in the part that could be encrypted.
fn infos_of<'a>(field: &Element<'a>) -> Result<Vec<Element<'a>>, NotATicket> {
    let mut body = field.reader().expect(0x30, "its inner part")?.reader();
    let mut cipher = None;
    while let Some(field) = body.next()? {
        match field.tag {
            0xa0 if field.reader().number()? != 0 => return Err(NotATicket("it is encrypted")),
            0xa2 => cipher = Some(field.reader().expect(0x04, "its inner part")?),
            _ => {}
        }
    }
    let inner = cipher.ok_or(NotATicket("it has no inner part"))?;
    let inner = inner.reader().expect(0x7d, "its inner part")?;
    let mut body = inner.reader().expect(0x30, "its inner part")?.reader();
    while let Some(field) = body.next()? {
        if field.tag == 0xa0 {
            return field.reader().list();
        }
    }
    Err(NotATicket("it describes no ticket"))
}

fn ticket_of(ticket: &Element<'_>, info: &Element<'_>) -> Result<Ticket, NotATicket> {
    let mut client = Principal {
        kind: 1,
        realm: String::new(),
        parts: Vec::new(),
    };
    let mut server = client.clone();
    let (mut key_type, mut key) = (0, Vec::new());
    let mut times = [0_u32; 4];
    let mut flags = 0;
    let mut body = info.reader();
    while let Some(field) = body.next()? {
        let mut value = field.reader();
        match field.tag {
            0xa0 => (key_type, key) = key_of(&mut value)?,
            0xa1 => client.realm = value.text()?,
            0xa2 => (client.kind, client.parts) = name_of(&mut value)?,
            0xa3 => flags = value.flags()?,
            0xa4..=0xa7 => times[usize::from(field.tag - 0xa4)] = value.time()?,
            0xa8 => server.realm = value.text()?,
            0xa9 => (server.kind, server.parts) = name_of(&mut value)?,
            _ => {}
        }
    }
    let [granted, begins, ends, renewable] = times;
    if key.is_empty() || ends == 0 || client.parts.is_empty() || server.parts.is_empty() {
        return Err(NotATicket("a ticket is described incompletely"));
    }
    Ok(Ticket {
        client,
        server,
        key_type,
        key,
        granted: if granted == 0 { begins } else { granted },
        begins: if begins == 0 { granted } else { begins },
        ends,
        renewable,
        flags,
        encoded: ticket.encoded.to_vec(),
    })
}

fn key_of(value: &mut Reader<'_>) -> Result<(u16, Vec<u8>), NotATicket> {
    let mut body = value.expect(0x30, "a session key")?.reader();
    let (mut kind, mut key) = (0, Vec::new());
    while let Some(field) = body.next()? {
        match field.tag {
            0xa0 => kind = field.reader().number()?,
            0xa1 => {
                key = field
                    .reader()
                    .expect(0x04, "a session key")?
                    .content
                    .to_vec()
            }
            _ => {}
        }
    }
    let kind = u16::try_from(kind).map_err(|_| NotATicket("the kind of a session key"))?;
    Ok((kind, key))
}

fn name_of(value: &mut Reader<'_>) -> Result<(u32, Vec<String>), NotATicket> {
    let mut body = value.expect(0x30, "a name")?.reader();
    let (mut kind, mut parts) = (1, Vec::new());
    while let Some(field) = body.next()? {
        match field.tag {
            0xa0 => kind = field.reader().number()?,
            0xa1 => {
                let list = field.reader().list()?;
                let texts = list.iter().map(Element::text);
                parts = texts.collect::<Result<_, _>>()?;
            }
            _ => {}
        }
    }
    Ok((kind, parts))
}

/// The whole cache is a secret.
pub(crate) fn hidden(bytes: &[u8]) -> Secret {
    Secret::from_bytes(bytes.to_vec())
}

#[cfg(test)]
mod tests;
