// The interactive heatmap: what is under the pointer is what is read out, and nothing jumps.
#include "ui/theme.h"
#include "ui/widgets/heatmap_view.h"

#include <QAccessible>
#include <QSignalSpy>
#include <QWheelEvent>
#include <QtTest>
#include <cmath>
#include <limits>

using namespace headscope;
Q_DECLARE_METATYPE(std::optional<headscope::CellRef>)

namespace {

HeatmapContents contentsOf(int rows, int cols, float shift = 0) {
    Matrix m(rows, cols);
    for (int r = 0; r < rows; ++r)
        for (int c = 0; c < cols; ++c)
            m(r, c) = std::fmod(static_cast<float>((r * 37 + c * 101) % 257) / 256.0F + shift, 1.0F);
    HeatmapContents out;
    out.matrix = share(std::move(m));
    for (int r = 0; r < rows; ++r)
        out.rowLabels << QStringLiteral("row%1").arg(r);
    for (int c = 0; c < cols; ++c)
        out.colLabels << QStringLiteral("col%1").arg(c);
    out.rowTitle = QStringLiteral("queries");
    out.colTitle = QStringLiteral("keys (attended to)");
    out.scale = ColorScale(ColorMap::Viridis, false, {0, 1});
    out.rangeCaption = QStringLiteral("weights, fixed range 0 to 1");
    out.numbers = false;
    return out;
}

class TestHeatmapView : public QObject {
    Q_OBJECT
private:
    // Mouse events go to the child under the pointer, as a window system sends them.
    static void mouse(HeatmapView& view, QEvent::Type type, QPointF at, Qt::MouseButtons buttons = Qt::NoButton) {
        QWidget* target = view.childAt(at.toPoint());
        const QPointF local = target->mapFrom(&view, at);
        const Qt::MouseButton button = type == QEvent::MouseMove ? Qt::NoButton : Qt::LeftButton;
        QMouseEvent event(type, local, view.mapToGlobal(at), button, buttons, Qt::NoModifier);
        QCoreApplication::sendEvent(target, &event);
    }
    static void click(HeatmapView& view, QPointF at) {
        mouse(view, QEvent::MouseButtonPress, at, Qt::LeftButton);
        mouse(view, QEvent::MouseButtonRelease, at);
    }
    static void wheel(HeatmapView& view, QPointF at, int steps) {
        QWidget* target = view.childAt(at.toPoint());
        QWheelEvent event(target->mapFrom(&view, at), view.mapToGlobal(at), {}, {0, 120 * steps}, Qt::NoButton,
                          Qt::NoModifier, Qt::NoScrollPhase, false);
        QCoreApplication::sendEvent(target, &event);
    }
    static std::unique_ptr<HeatmapView> shown(HeatmapContents contents, QSize size = {700, 640}) {
        auto view = std::make_unique<HeatmapView>();
        view->resize(size);
        view->setContents(std::move(contents));
        view->show();
        (void)QTest::qWaitForWindowExposed(view.get());
        QCoreApplication::processEvents();
        return view;
    }

private slots:
    void initTestCase() { qRegisterMetaType<std::optional<CellRef>>("std::optional<headscope::CellRef>"); }

    // Above the columns of each head a strip in its colour, over all of them and nothing else.
    void aBandHasTheColourOfItsHead() {
        HeatmapContents contents = contentsOf(6, 12);
        contents.bandStarts = {0, 4, 8};
        contents.bandHeads = {BandHead{2, false}, BandHead{5, false}, BandHead{1, true}};
        const auto view = shown(contents);
        view->clearFocus(); // its frame goes over the strip
        const QImage picture = view->grab().toImage();
        const double cellHeight = view->cellCentre({1, 0}).y() - view->cellCentre({0, 0}).y();
        for (int c = 0; c < 12; ++c) {
            const QPointF centre = view->cellCentre({0, c});
            const double top = centre.y() - cellHeight / 2;
            const QColor expected = contents.bandHeads[static_cast<std::size_t>(c / 4)].color(theme().dark);
            int found = 0; // of the pixels of the gap between labels and cells
            for (int y = static_cast<int>(top) - 6; y < static_cast<int>(top); ++y)
                found += picture.pixelColor(static_cast<int>(centre.x()), y) == expected ? 1 : 0;
            QVERIFY2(found == 3, qPrintable(QStringLiteral("column %1: %2").arg(c).arg(found)));
        }
    }

    void everyCellHasTheColorOfItsNumber_data() {
        QTest::addColumn<int>("rows");
        QTest::addColumn<int>("cols");
        for (auto [r, c] : {std::pair{1, 1}, {6, 6}, {14, 14}, {64, 64}, {128, 128}, {3, 20}, {20, 3}, {8, 200}})
            QTest::addRow("%d x %d", r, c) << r << c;
    }
    void everyCellHasTheColorOfItsNumber() {
        QFETCH(int, rows);
        QFETCH(int, cols);
        const HeatmapContents contents = contentsOf(rows, cols);
        const auto view = shown(contents);
        const QImage image = view->grab().toImage();
        for (int r = 0; r < rows; ++r)
            for (int c = 0; c < cols; ++c) {
                const QPointF at = view->cellCentre({r, c});
                QCOMPARE(image.pixel(static_cast<int>(at.x()), static_cast<int>(at.y())),
                         contents.scale.color((*contents.matrix)(r, c)));
                QCOMPARE(view->cellAt(at), std::optional(CellRef{r, c}));
            }
    }

    void hoverReadsOutTheExactNumber() {
        const auto view = shown(contentsOf(6, 6));
        QSignalSpy hovered(view.get(), &HeatmapView::cellHovered);
        mouse(*view, QEvent::MouseMove, view->cellCentre({2, 4}));
        QCOMPARE(hovered.size(), 1);
        QCOMPARE(view->currentCell(), std::optional(CellRef{2, 4}));
        const QString text = view->describe(view->currentCell());
        QVERIFY(text.contains(QStringLiteral("row2")) && text.contains(QStringLiteral("col4")));
        QVERIFY(text.contains(QString::number((2 * 37 + 4 * 101) % 257 / 256.0, 'g', 9)));
        // The colours under the cross are not altered: it is drawn as outlines.
        const QPointF other = view->cellCentre({2, 1});
        QCOMPARE(view->grab().toImage().pixel(other.toPoint()),
                 view->contents().scale.color((*view->contents().matrix)(2, 1)));
    }

    void clickPinsAndASecondClickFrees() {
        const auto view = shown(contentsOf(6, 6));
        QSignalSpy pinned(view.get(), &HeatmapView::cellPinned);
        click(*view, view->cellCentre({3, 2}));
        QCOMPARE(view->pinnedCell(), std::optional(CellRef{3, 2}));
        click(*view, view->cellCentre({3, 2}));
        QCOMPARE(view->pinnedCell(), std::optional<CellRef>());
        QCOMPARE(pinned.size(), 2);
        view->setPinnedCell(CellRef{1, 1}); // from outside: no signal back
        QCOMPARE(pinned.size(), 2);
    }

    void pinnedCellIsFramedInTheAccentColor() {
        const auto view = shown(contentsOf(6, 6));
        const auto accents = [&] {
            const QImage image = view->grab().toImage();
            int count = 0;
            for (int y = 0; y < image.height(); ++y)
                for (int x = 0; x < image.width(); ++x)
                    count += image.pixel(x, y) == theme().accent.rgb();
            return count;
        };
        QCOMPARE(accents(), 0);
        view->setPinnedCell(CellRef{3, 2});
        QVERIFY(accents() > 200);
    }

    void keysMovePinAndFree() {
        const auto view = shown(contentsOf(6, 8));
        view->setFocus();
        QTest::keyClick(view.get(), Qt::Key_Down); // the first key enters the matrix
        QCOMPARE(view->currentCell(), std::optional(CellRef{0, 0}));
        QTest::keyClick(view.get(), Qt::Key_Down);
        QTest::keyClick(view.get(), Qt::Key_Right);
        QCOMPARE(view->currentCell(), std::optional(CellRef{1, 1}));
        QTest::keyClick(view.get(), Qt::Key_End);
        QCOMPARE(view->currentCell(), std::optional(CellRef{1, 7}));
        QTest::keyClick(view.get(), Qt::Key_Right); // stops at the edge
        QCOMPARE(view->currentCell(), std::optional(CellRef{1, 7}));
        QTest::keyClick(view.get(), Qt::Key_Home);
        QTest::keyClick(view.get(), Qt::Key_Return);
        QCOMPARE(view->pinnedCell(), std::optional(CellRef{1, 0}));
        QTest::keyClick(view.get(), Qt::Key_Escape);
        QCOMPARE(view->pinnedCell(), std::optional<CellRef>());
    }

    void wheelZoomsAtThePointer() {
        const auto view = shown(contentsOf(40, 40));
        const CellRef cell{10, 30};
        const QPointF at = view->cellCentre(cell);
        const double before = view->cellCentre({11, 30}).y() - at.y();
        wheel(*view, at, 4);
        QVERIFY(view->cellCentre({11, 30}).y() - view->cellCentre(cell).y() > 1.5 * before);
        QVERIFY(std::hypot(view->cellCentre(cell).x() - at.x(), view->cellCentre(cell).y() - at.y()) <
                1.5); // stays under the pointer
        QCOMPARE(view->cellAt(at), std::optional(cell));
        QTest::keyClick(view.get(), Qt::Key_0);
        QVERIFY(std::abs(view->cellCentre({11, 30}).y() - view->cellCentre(cell).y() - before) < 1e-6);
    }

    void draggingPansAndPinsNothing() {
        const auto view = shown(contentsOf(40, 40));
        wheel(*view, view->cellCentre({20, 20}), 5);
        const QPointF from = view->cellCentre({20, 20});
        mouse(*view, QEvent::MouseButtonPress, from, Qt::LeftButton);
        mouse(*view, QEvent::MouseMove, from + QPointF(30, 20), Qt::LeftButton);
        mouse(*view, QEvent::MouseButtonRelease, from + QPointF(30, 20));
        QVERIFY(std::hypot(view->cellCentre({20, 20}).x() - from.x() - 30,
                           view->cellCentre({20, 20}).y() - from.y() - 20) < 1.5);
        QCOMPARE(view->pinnedCell(), std::optional<CellRef>());
    }

    void doubleClickResetsAndPinsNothing() {
        const auto view = shown(contentsOf(40, 40));
        const QPointF home = view->cellCentre({5, 5});
        wheel(*view, view->cellCentre({20, 20}), 5);
        const QPointF at = view->cellCentre({20, 20});
        click(*view, at);
        mouse(*view, QEvent::MouseButtonDblClick, at, Qt::LeftButton);
        mouse(*view, QEvent::MouseButtonRelease, at);
        QVERIFY(std::hypot(view->cellCentre({5, 5}).x() - home.x(), view->cellCentre({5, 5}).y() - home.y()) < 1e-6);
        QCOMPARE(view->pinnedCell(), std::optional<CellRef>());
    }

    void nothingJumpsWhenNumbersChange() {
        const auto view = shown(contentsOf(40, 40));
        wheel(*view, view->cellCentre({20, 20}), 5);
        view->setPinnedCell(CellRef{20, 20});
        mouse(*view, QEvent::MouseMove, view->cellCentre({21, 20}));
        const QPointF before = view->cellCentre({20, 20});
        view->setContents(contentsOf(40, 40, 0.3F));
        QCOMPARE(view->cellCentre({20, 20}), before);
        QCOMPARE(view->pinnedCell(), std::optional(CellRef{20, 20}));
        QCOMPARE(view->currentCell(), std::optional(CellRef{21, 20}));
        view->setContents(
            contentsOf(10, 10)); // another shape: the whole matrix, and a pin that no longer exists is gone
        QCOMPARE(view->pinnedCell(), std::optional<CellRef>());
        QVERIFY(view->cellAt(view->cellCentre({0, 0})) && view->cellAt(view->cellCentre({9, 9})));
    }

    void largeMatricesArriveInTheBackground() {
        const auto view = shown(contentsOf(4, 4));
        view->setContents(contentsOf(2000, 1500));
        QVERIFY(view->preparing());
        QCOMPARE(view->contents().matrix->rows(), 4); // the old picture stays
        view->setContents(contentsOf(1800, 1600));    // and only the last one is shown
        QTRY_COMPARE(view->contents().matrix->rows(), 1800);
        QVERIFY(!view->preparing());
        QTest::qWait(50);
        QCOMPARE(view->contents().matrix->rows(), 1800);
    }

    void nothingFailsWithoutNumbers() {
        const auto view = shown({});
        view->setContents({});
        click(*view, {100, 100});
        QTest::keyClick(view.get(), Qt::Key_Down);
        QCOMPARE(view->currentCell(), std::optional<CellRef>());
        Matrix odd(2, 2, std::numeric_limits<float>::quiet_NaN());
        odd(0, 1) = -std::numeric_limits<float>::infinity();
        HeatmapContents contents = contentsOf(2, 2);
        contents.matrix = share(std::move(odd));
        contents.weightMargins = true;
        view->setContents(contents);
        QVERIFY(view->describe(CellRef{0, 1}).contains(QStringLiteral("masked")));
        view->grab();
    }

    void screenReadersHearTheCell() {
        const auto view = shown(contentsOf(6, 6));
        view->setCurrentCell(CellRef{2, 3});
        QAccessibleInterface* interface = QAccessible::queryAccessibleInterface(view.get());
        QVERIFY(interface);
        QVERIFY(interface->text(QAccessible::Description).contains(QStringLiteral("row2")));
    }
};

} // namespace

QTEST_MAIN(TestHeatmapView)
#include "tst_heatmap_view.moc"
