// The list of tabs. Each has a button to show it and one to close it.

export interface TabListProps {
  titles: readonly string[];
  active: number;
  onShow: (at: number) => void;
  onClose: (at: number) => void;
  onAdd: () => void;
}

export function TabList({ titles, active, onShow, onClose, onAdd }: TabListProps) {
  return (
    <div class="tabs">
      <ul aria-label="Tabs">
        {titles.map((title, at) => (
          <li key={at} class={at === active ? "shown" : undefined}>
            <button type="button" class="title" aria-current={at === active ? "true" : undefined} onClick={() => onShow(at)}>
              {title}
            </button>
            {titles.length > 1 && (
              <button type="button" class="plain" aria-label={`Close ${title}`} onClick={() => onClose(at)}>
                <span aria-hidden="true">×</span>
              </button>
            )}
          </li>
        ))}
      </ul>
      <button type="button" class="plain" aria-label="Add a tab" onClick={onAdd}>
        <span aria-hidden="true">+</span>
      </button>
    </div>
  );
}
