// A time, shown as its day.

import { day, longDate } from "./format";

export function Day({ time }: { time: string }) {
  return (
    <time dateTime={time} title={longDate(time)}>
      {day(time)}
    </time>
  );
}
