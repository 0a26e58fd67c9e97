//! The part of DER that Kerberos uses (ITU-T X.690), read without copying and without panics.

use super::NotATicket;

/// One element.
#[derive(Clone, Copy, Debug)]
pub(super) struct Element<'a> {
    /// Its tag; Kerberos has no tag above 30.
    pub(super) tag: u8,
    /// What is in it.
    pub(super) content: &'a [u8],
    /// All of it.
    pub(super) encoded: &'a [u8],
}

impl<'a> Element<'a> {
    /// What is in it, as elements.
    pub(super) const fn reader(&self) -> Reader<'a> {
        Reader(self.content)
    }

    /// A text: GeneralString, but other kinds of strings are no reason to fail.
    pub(super) fn text(&self) -> Result<String, NotATicket> {
        std::str::from_utf8(self.content)
            .map(str::to_owned)
            .map_err(|_| NotATicket("a text"))
    }
}

/// A run of elements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The next element; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Element<'a>>, NotATicket> {
        const SHORT: NotATicket = NotATicket("it ends too early");
        let all = self.0;
        let Some((&tag, rest)) = all.split_first() else {
            return Ok(None);
        };
        if tag & 0x1f == 0x1f {
            return Err(NotATicket("a tag"));
        }
        let (&first, rest) = rest.split_first().ok_or(SHORT)?;
        let (length, rest) = if first < 0x80 {
            (usize::from(first), rest)
        } else {
            let count = usize::from(first & 0x7f);
            if count == 0 || count > 4 || rest.len() < count {
                return Err(NotATicket("a length"));
            }
            let (digits, rest) = rest.split_at(count);
            let length = digits.iter().fold(0, |sum, &b| sum << 8 | usize::from(b));
            (length, rest)
        };
        if rest.len() < length {
            return Err(SHORT);
        }
        let (content, rest) = rest.split_at(length);
        self.0 = rest;
        let encoded = &all[..all.len() - rest.len()];
        Ok(Some(Element {
            tag,
            content,
            encoded,
        }))
    }

    /// The next element, which has to be of a kind.
    pub(super) fn expect(
        &mut self,
        tag: u8,
        what: &'static str,
    ) -> Result<Element<'a>, NotATicket> {
        self.next()?
            .filter(|element| element.tag == tag)
            .ok_or(NotATicket(what))
    }

    /// A SEQUENCE OF.
    pub(super) fn list(&mut self) -> Result<Vec<Element<'a>>, NotATicket> {
        let mut items = self.expect(0x30, "a list")?.reader();
        let mut all = Vec::new();
        while let Some(item) = items.next()? {
            all.push(item);
        }
        Ok(all)
    }

    /// A number that is not negative.
    pub(super) fn number(&mut self) -> Result<u32, NotATicket> {
        const BAD: NotATicket = NotATicket("a number");
        let content = self.expect(0x02, "a number")?.content;
        if content.is_empty() || content.len() > 5 || content[0] & 0x80 != 0 {
            return Err(BAD);
        }
        let number = content
            .iter()
            .fold(0, |sum: u64, &b| sum << 8 | u64::from(b));
        u32::try_from(number).map_err(|_| BAD)
    }

    /// A BIT STRING of 32 flags.
    pub(super) fn flags(&mut self) -> Result<u32, NotATicket> {
        let content = self.expect(0x03, "flags")?.content;
        let mut bits = [0; 4];
        for (bit, &byte) in bits.iter_mut().zip(content.iter().skip(1)) {
            *bit = byte;
        }
        Ok(u32::from_be_bytes(bits))
    }

    /// A text.
    pub(super) fn text(&mut self) -> Result<String, NotATicket> {
        self.next()?.ok_or(NotATicket("a text"))?.text()
    }

    /// A GeneralizedTime `YYYYMMDDhhmmssZ`, in seconds since 1970.
    pub(super) fn time(&mut self) -> Result<u32, NotATicket> {
        let text = self.expect(0x18, "a time")?.text()?;
        seconds(&text).ok_or(NotATicket("a time"))
    }
}

fn seconds(text: &str) -> Option<u32> {
    let digits = text.strip_suffix('Z')?;
    if digits.len() != 14 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let part = |from: usize, to: usize| digits[from..to].parse::<u64>().ok();
    let (year, month, day) = (part(0, 4)?, part(4, 6)?, part(6, 8)?);
    let (hour, minute, second) = (part(8, 10)?, part(10, 12)?, part(12, 14)?);
    if year < 1970 || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Days from the civil calendar, with March as the first month.
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1;
    let since = days.checked_sub(719_468)?;
    u32::try_from(since * 86_400 + hour * 3600 + minute * 60 + second).ok()
}

#[cfg(test)]
mod tests {
    use super::{Reader, seconds};

    #[test]
    fn times_are_counted_from_1970() {
        for (text, expected) in [
            ("19700101000000Z", Some(0)),
            ("20000229120000Z", Some(951_825_600)),
            ("20260303093000Z", Some(1_772_530_200)),
            ("2026030309300Z", None),
            ("20261303093000Z", None),
            ("20260303093000", None),
        ] {
            assert_eq!(seconds(text), expected, "{text}");
        }
    }

    #[test]
    fn a_cut_element_is_an_error_and_never_a_panic() {
        let whole = [0x30, 0x82, 0x00, 0x03, 0x02, 0x01, 0x05];
        assert!(Reader::new(&whole).next().unwrap().is_some());
        for length in 1..whole.len() {
            assert!(Reader::new(&whole[..length]).next().is_err(), "{length}");
        }
        assert!(Reader::new(&[0x1f, 0x01]).next().is_err());
        assert!(Reader::new(&[0x30, 0x80]).next().is_err());
    }
}
