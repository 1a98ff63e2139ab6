//! The owner's side of [`super::remote`]: carries out the statements of other processes on units of this one, in the mailbox's thread. Of the
//! program's memory it sees only what has come with the message, so procedures of the program cannot run here.

use std::cell::RefCell;
use std::ffi::{c_char, c_void};

use super::remote::{Group, Item, Part};
use super::statement::{Begin, Kind};
use super::units;
use super::values::Values;
use super::wire::{Reader, Writer};
use crate::sync;

unsafe extern "C" {
    fn dsm_rt_io_original_begin(begin: *const Begin) -> *mut c_void;
    fn dsm_rt_io_original_handlers(cookie: *mut c_void, which: u32);
    fn dsm_rt_io_original_text(cookie: *mut c_void, which: u32, text: *const u8, len: usize) -> u32;
    fn dsm_rt_io_original_number(cookie: *mut c_void, which: u32, value: i64) -> u32;
    fn dsm_rt_io_original_item(cookie: *mut c_void, descriptor: *const u64, input: u32) -> u32;
    fn dsm_rt_io_original_namelist(cookie: *mut c_void, group: *const Group, input: u32) -> u32;
    fn dsm_rt_io_original_ask(cookie: *mut c_void, which: u32, key: u64, to: *mut u8, len: usize) -> i64;
    fn dsm_rt_io_original_end(cookie: *mut c_void) -> i32;
}

/// The statement under way, if there is one.
#[derive(Default)]
struct Session {
    /// The message that is arriving.
    incoming: Vec<u8>,
    /// Messages of the statement: flang's library refers to names and formats in them.
    messages: Vec<Vec<u8>>,
    cookie: usize,
    /// The unit that the statement closes.
    closes: Option<i32>,
    /// An item has failed, so those behind it do nothing.
    failed: bool,
    reply: Vec<u8>,
}

thread_local! {
    static SESSION: RefCell<Session> = RefCell::default();
}

/// A part of a message has arrived.
pub fn part(bytes: &[u8]) {
    SESSION.with_borrow_mut(|s| s.incoming.extend_from_slice(bytes));
}

/// The message is complete with these bytes: length of the reply.
pub fn run(bytes: &[u8]) -> usize {
    SESSION.with_borrow_mut(|session| {
        session.incoming.extend_from_slice(bytes);
        let message = std::mem::take(&mut session.incoming);
        let mut reader = Reader(&message);
        let mut result = (0, Vec::new());
        let mut moved = None;
        while !reader.is_at_end() && moved.is_none() {
            let code = reader.word() as usize;
            match session.carry_out(Part::ALL[code], &mut reader) {
                Ok(done) => result = done,
                Err(owner) => moved = Some(owner),
            }
        }
        let mut reply = Writer::default();
        reply.word(moved.is_some().into());
        reply.signed(moved.map_or(result.0, i64::from));
        reply.bytes(&result.1);
        session.reply = reply.0;
        if session.cookie == 0 {
            session.messages.clear();
        } else {
            session.messages.push(message);
        }
        session.reply.len()
    })
}

/// Copies the reply from `from` on; how many bytes there were for it.
pub fn fetch(from: usize, to: &mut [u8]) -> usize {
    SESSION.with_borrow(|session| {
        let rest = session.reply.get(from..).unwrap_or_default();
        let len = rest.len().min(to.len());
        to[..len].copy_from_slice(&rest[..len]);
        len
    })
}

type Done = (i64, Vec<u8>);

impl Session {
    fn cookie(&self) -> *mut c_void {
        self.cookie as *mut c_void
    }

    /// Carries out a part; the error is the process that has the unit now.
    fn carry_out(&mut self, part: Part, reader: &mut Reader<'_>) -> Result<Done, u32> {
        // SAFETY: the cookie is that of the statement under way; all else lies in the message, which is kept until its end, or in values
        // that live until the call returns.
        unsafe {
            Ok(match part {
                Part::Begin => return self.begin(reader),
                Part::Handlers => {
                    dsm_rt_io_original_handlers(self.cookie(), reader.word() as u32);
                    (1, vec![])
                }
                Part::Text => {
                    let (which, text) = (reader.word() as u32, reader.bytes());
                    (
                        self.unless_failed(|c| dsm_rt_io_original_text(c, which, text.as_ptr(), text.len())),
                        vec![],
                    )
                }
                Part::Number => {
                    let (which, value) = (reader.word() as u32, reader.signed());
                    (self.unless_failed(|c| dsm_rt_io_original_number(c, which, value)), vec![])
                }
                Part::Item => {
                    let input = reader.word() as u32;
                    let mut values = Values::read(reader);
                    let descriptor = values.descriptor();
                    let done = self.unless_failed(|c| dsm_rt_io_original_item(c, descriptor.as_ptr(), input));
                    (done, values.bytes)
                }
                Part::Namelist => self.namelist(reader),
                Part::Ask => {
                    let (which, key, mut to) = (reader.word() as u32, reader.word(), reader.bytes().to_vec());
                    (dsm_rt_io_original_ask(self.cookie(), which, key, to.as_mut_ptr(), to.len()), to)
                }
                Part::End => {
                    let status = dsm_rt_io_original_end(self.cookie());
                    self.cookie = 0;
                    if let Some(unit) = self.closes.take().filter(|_| status == 0) {
                        units::release(unit);
                    }
                    (status.into(), vec![])
                }
            })
        }
    }

    fn unless_failed(&mut self, item: impl FnOnce(*mut c_void) -> u32) -> i64 {
        self.failed |= self.failed || item(self.cookie()) == 0;
        (!self.failed).into()
    }

    unsafe fn begin(&mut self, reader: &mut Reader<'_>) -> Result<Done, u32> {
        let kind = reader.word() as u32;
        assert!(kind < Kind::NoUnit as u32);
        // SAFETY: a kind by the assertion.
        let kind = unsafe { std::mem::transmute::<u32, Kind>(kind) };
        let (unit, line, id) = (reader.signed() as i32, reader.signed() as i32, reader.signed() as i32);
        let (file, format) = (reader.bytes(), reader.bytes());
        if unit >= 0 && kind.connects() {
            let owner = units::claim(unit);
            if owner != sync::rank() && unit != units::STANDARD_INPUT {
                return Err(owner);
            }
        }
        let begin = Begin {
            kind,
            unit,
            format: format.as_ptr(),
            format_len: format.len(),
            format_descriptor: std::ptr::null(),
            file: if file.is_empty() { std::ptr::null() } else { file.as_ptr().cast::<c_char>() },
            line,
            id,
        };
        self.failed = false;
        self.closes = (kind == Kind::Close && unit >= 0).then_some(unit);
        // SAFETY: the texts are kept with the message.
        self.cookie = unsafe { dsm_rt_io_original_begin(&begin) } as usize;
        Ok((1, vec![]))
    }

    unsafe fn namelist(&mut self, reader: &mut Reader<'_>) -> Done {
        let (input, name) = (reader.word() as u32, reader.bytes());
        let mut all: Vec<(&[u8], Values)> =
            (0..reader.word()).map(|_| (reader.bytes(), Values::read(reader))).collect();
        let descriptors: Vec<Vec<u64>> = all.iter_mut().map(|(_, values)| values.descriptor()).collect();
        let items: Vec<Item> = all
            .iter()
            .zip(&descriptors)
            .map(|((name, _), d)| Item { name: name.as_ptr().cast(), descriptor: d.as_ptr().cast() })
            .collect();
        let group = Group {
            name: name.as_ptr().cast(),
            count: items.len(),
            items: items.as_ptr(),
            table: std::ptr::null(),
        };
        // SAFETY: the group and all it names live until the call returns.
        let done = self.unless_failed(|c| unsafe { dsm_rt_io_original_namelist(c, &group, input) });
        let mut back = Writer::default();
        all.iter().for_each(|(_, values)| back.bytes(&values.bytes));
        (done, back.0)
    }
}
