//! The thread that serves the peers: it executes their requests on the own segment, hands their waits to the pool, and hands answers to own waits to the
//! threads that wait for them.
//!
//! It blocks nowhere but in its port's `wait`: what a lane does not take or give at once is continued when it does.

use std::sync::Arc;
use std::time::Instant;

use super::carrier::{Answerer, Port};
use super::client::Waiters;
use super::memory::Segment;
use super::pieces::Pieces;
use super::pool::{Pool, Wait};
use super::random::Random;
use super::slice;
use super::wire::{self, ANSWER, KEY_BYTES, Malformed, REPLY, Request};

pub(super) struct Agent {
    rank: u32,
    segment: Segment,
    pieces: Pieces,
    pool: Arc<Pool>,
    random: Option<Random>,
    port: Box<dyn Port>,
    lanes: Vec<Lane>,
    /// Lanes whose request is being delayed.
    paused: Vec<bool>,
    /// Lanes to serve now.
    ready: Vec<usize>,
}

pub(super) struct Lane {
    peer: u32,
    purpose: Purpose,
    is_open: bool,
    /// When the request that has come is to be executed, if it is being delayed.
    due: Option<Instant>,
    /// The request that has come has been delayed, or need not be.
    is_due: bool,
}

pub(super) enum Purpose {
    /// Requests of the peer, and their replies.
    Requests,
    /// Waits of the peer; the pool answers them.
    Waits(Answerer),
    /// Answers to own waits.
    Answers(Arc<Waiters>),
}

/// Why a lane ends.
enum End {
    Closed,
    Malformed(Malformed),
}

impl From<Malformed> for End {
    fn from(malformed: Malformed) -> End {
        End::Malformed(malformed)
    }
}

impl From<std::io::Error> for End {
    fn from(_: std::io::Error) -> End {
        End::Closed
    }
}

impl Lane {
    pub(super) fn new(peer: u32, purpose: Purpose) -> Lane {
        Lane { peer, purpose, is_open: true, due: None, is_due: false }
    }
}

impl Agent {
    /// `lanes` are in the order of the port's.
    pub(super) fn new(
        rank: u32,
        (segment, pieces): (Segment, Pieces),
        pool: Arc<Pool>,
        random: Option<Random>,
        port: Box<dyn Port>,
        lanes: Vec<Lane>,
    ) -> Agent {
        let paused = vec![false; lanes.len()];
        let ready = Vec::with_capacity(lanes.len());
        Agent { rank, segment, pieces, pool, random, port, lanes, paused, ready }
    }

    /// Serves as long as the process lives.
    pub(super) fn serve(mut self) {
        slice::shorten();
        loop {
            self.wait();
            for i in 0..self.ready.len() {
                let at = self.ready[i];
                if !self.lanes[at].is_open {
                    continue;
                }
                if let Err(end) = self.serve_one(at) {
                    self.end(at, end);
                }
            }
        }
    }

    /// Waits until lanes can be served; puts them in `ready`.
    fn wait(&mut self) {
        for (paused, lane) in self.paused.iter_mut().zip(&self.lanes) {
            *paused = lane.due.is_some();
        }
        let due = self.lanes.iter().filter_map(|lane| lane.due).min();
        let timeout = due.map(|due| due.saturating_duration_since(Instant::now()));
        self.ready.clear();
        self.port.wait(&self.paused, timeout, &mut self.ready);
        if due.is_some() {
            let now = Instant::now();
            // The end of a lane shows when the next request is taken; a request before that is executed.
            self.ready.retain(|at| !self.paused[*at]);
            let is_due = |lane: &Lane| lane.due.is_some_and(|due| due <= now);
            self.ready.extend((0..self.lanes.len()).filter(|at| is_due(&self.lanes[*at])));
        }
        if let Some(random) = &mut self.random {
            random.shuffle(&mut self.ready);
        }
    }

    /// Goes on with a lane as far as that is possible at once.
    fn serve_one(&mut self, at: usize) -> Result<(), End> {
        let lane = &mut self.lanes[at];
        if lane.due.take().is_some() {
            lane.is_due = true;
        } else if !self.port.receive(at)? {
            return Ok(());
        }
        loop {
            if !self.port.has_space(at) && !self.port.send_pending(at)? {
                return Ok(());
            }
            let (input, output) = self.port.split(at);
            if let Purpose::Answers(waiters) = &lane.purpose {
                let Some(answer) = input.first_chunk::<ANSWER>() else { return self.rest(at) };
                let (id, value) = wire::decode_answer(answer);
                if !waiters.answer(id, value) {
                    return Err(Malformed::Fields.into());
                }
                self.port.consume(at, ANSWER);
                continue;
            }
            let Some((request, length)) = Request::decode(input, self.segment.bytes)? else {
                return self.rest(at);
            };
            if let Some(delay) = self.random.as_mut().filter(|_| !lane.is_due).and_then(Random::delay) {
                // Replies do not wait for the next request.
                if !self.port.send_pending(at)? {
                    return Ok(());
                }
                lane.due = Some(Instant::now() + delay);
                return Ok(());
            }
            match &lane.purpose {
                Purpose::Waits(answers) => {
                    let Request::Wait { offset, seen, wake, id } = request else {
                        return Err(Malformed::Lane.into());
                    };
                    self.pool.submit(Wait { answers: answers.clone(), offset, seen, wake, id });
                }
                _ => {
                    let (head, payload) = output.split_at_mut(REPLY);
                    let (value, bytes) = match request {
                        Request::Key { offset } => {
                            payload[..KEY_BYTES].copy_from_slice(&wire::key(self.pieces.key(offset)));
                            (0, KEY_BYTES)
                        }
                        _ => self.segment.execute(&request, payload)?,
                    };
                    if !matches!(request, Request::Post { .. }) {
                        head.copy_from_slice(&wire::reply(value, bytes));
                        self.port.reply(at, REPLY + bytes);
                    }
                }
            }
            lane.is_due = false;
            self.port.consume(at, length);
        }
    }

    /// All whole messages have been served.
    fn rest(&mut self, at: usize) -> Result<(), End> {
        if !self.port.send_pending(at)? {
            return Ok(());
        }
        if self.port.is_torn(at) { Err(Malformed::Torn.into()) } else { Ok(()) }
    }

    /// Ends a lane; the others stay.
    fn end(&mut self, at: usize, end: End) {
        let Lane { peer, purpose, is_open, due, .. } = &mut self.lanes[at];
        if let End::Malformed(malformed) = end {
            let what = if let Purpose::Answers(_) = purpose { "answer" } else { "request" };
            eprintln!("dsm: error: process {}: malformed {what} from process {peer}: {malformed}", self.rank);
            // Requests before that one were in order.
            _ = self.port.send_pending(at);
        }
        if let Purpose::Answers(waiters) = purpose {
            waiters.lose();
        }
        (*is_open, *due) = (false, None);
        self.port.close(at);
    }
}
