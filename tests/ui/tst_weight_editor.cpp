// The weights editor driven like a person drives it. Every change is one step with a name, and undo gives the same
// objects back.
#include "core/attention/tensor_edit.h"
#include "tests/support/scenarios.h"
#include "ui/widgets/number_block.h"
#include "ui/widgets/weight_delegate.h"
#include "ui/widgets/weight_editor.h"
#include "ui/widgets/weight_model.h"
#include "ui/workspace.h"

#include <QAbstractItemModelTester>
#include <QApplication>
#include <QClipboard>
#include <QLabel>
#include <QLineEdit>
#include <QMouseEvent>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>

using namespace headscope;
using namespace headscope::testing;

class WeightEditorTest : public QObject {
    Q_OBJECT

    struct Bench {
        Workspace workspace;
        std::unique_ptr<WeightEditor> editor;
        WeightTable* table = nullptr;
        WeightModel* model = nullptr;
        std::unique_ptr<QAbstractItemModelTester> tester;

        explicit Bench(const Scenario& scenario, int head = 0) {
            View view;
            view.heads = {HeadIndex{head}};
            workspace.reset(scenario, view);
            editor = std::make_unique<WeightEditor>(workspace);
            table = editor->findChild<WeightTable*>();
            model = editor->findChild<WeightModel*>();
            tester = std::make_unique<QAbstractItemModelTester>(model,
                                                                QAbstractItemModelTester::FailureReportingMode::QtTest);
            editor->resize(360, 400);
            static_cast<QWidget*>(editor.get())->show();
        }
        const Matrix& tensor(WeightKind kind) const {
            return *workspace.scenario().model->tensor({LayerIndex{0}, kind});
        }
        QUndoStack& undo() { return *workspace.undoStack(); }
        void select(int row, int col) { table->setCurrentIndex(model->index(row, col)); }
        void paste(const QString& text) {
            QApplication::clipboard()->setText(text);
            QTest::keyClick(table, Qt::Key_V, Qt::ControlModifier);
        }
        QString message() const { return editor->findChild<QLabel*>(QStringLiteral("weightMessage"))->text(); }
        QPoint centre(int row, int col) const { return table->visualRect(model->index(row, col)).center(); }
        void mouse(QEvent::Type type, QPoint at, Qt::MouseButtons buttons, Qt::KeyboardModifiers keys = {}) {
            const Qt::MouseButton button = type == QEvent::MouseMove ? Qt::NoButton : Qt::LeftButton;
            QMouseEvent event(type, at, table->viewport()->mapToGlobal(at), button, buttons, keys);
            QApplication::sendEvent(table->viewport(), &event);
        }
    };

    static Scenario grouped() {
        ToyOptions o;
        o.dModel = 12;
        o.heads = 6;
        o.kvHeads = 2;
        o.layers = 2;
        return toy(o, "the cat sat");
    }
    static Scenario square() {
        ToyOptions o;
        o.dModel = 6;
        o.heads = 1;
        return toy(o, "the cat sat");
    }

private slots:
    void aTypedNumberIsOneNamedStepAndUndoGivesTheSameTensor() {
        Bench b(grouped(), 3);
        const SharedMatrix before = b.workspace.scenario().model->tensor({LayerIndex{0}, WeightKind::WQ});
        b.select(2, 1);
        QTest::keyClick(b.table, Qt::Key_F2);
        auto* field = b.table->findChild<QLineEdit*>();
        QVERIFY(field);
        field->setText(QStringLiteral("0.25"));
        QTest::keyClick(field, Qt::Key_Return);
        QTRY_COMPARE(b.tensor(WeightKind::WQ)(2, 3 * 2 + 1), 0.25F); // d_k = 2
        QCOMPARE(b.undo().undoText(), QStringLiteral("Set W_Q[2, 1] of L0 H3 to 0.25"));
        QVERIFY(b.model->index(2, 1).data(WeightModel::ChangedRole).toBool());
        b.undo().undo();
        QCOMPARE(b.workspace.scenario().model->tensor({LayerIndex{0}, WeightKind::WQ}), before);
        QCOMPARE(b.workspace.scenario().model, b.workspace.scenario().original);
        QVERIFY(!b.model->index(2, 1).data(WeightModel::ChangedRole).toBool());
    }

    void wordsAreRefusedWithASentence() {
        Bench b(grouped());
        QVERIFY(!b.model->setData(b.model->index(0, 0), QStringLiteral("much")));
        QVERIFY(b.message().contains(QStringLiteral("much")));
        QCOMPARE(b.undo().count(), 0);
    }

    void aDragIsOneStepAndComesBackExactly() {
        Bench b(square());
        const float start = b.model->value(b.model->index(1, 1));
        const QPoint from = b.centre(1, 1);
        b.mouse(QEvent::MouseButtonPress, from, Qt::LeftButton);
        for (int y = 1; y <= 40; ++y)
            b.mouse(QEvent::MouseMove, from - QPoint(0, y), Qt::LeftButton);
        b.mouse(QEvent::MouseButtonRelease, from - QPoint(0, 40), Qt::NoButton);
        QVERIFY(b.model->value(b.model->index(1, 1)) > start); // upwards is larger
        QCOMPARE(b.undo().count(), 1);
        b.undo().undo();
        QCOMPARE(b.workspace.scenario().model, b.workspace.scenario().original);
        QCOMPARE(b.model->value(b.model->index(1, 1)), start);
    }

    void twoDragsAreTwoSteps() {
        Bench b(square());
        for (int drag = 0; drag < 2; ++drag) {
            const QPoint from = b.centre(1, 1);
            b.mouse(QEvent::MouseButtonPress, from, Qt::LeftButton);
            b.mouse(QEvent::MouseMove, from - QPoint(0, 30), Qt::LeftButton);
            b.mouse(QEvent::MouseButtonRelease, from - QPoint(0, 30), Qt::NoButton);
        }
        QCOMPARE(b.undo().count(), 2);
    }

    void keysTurnACellAndUndoEndsTheTurn() {
        Bench b(square());
        b.select(0, 0);
        const float start = b.model->value(b.model->index(0, 0));
        for (int i = 0; i < 3; ++i)
            QTest::keyClick(b.table, Qt::Key_Up, Qt::ControlModifier);
        QCOMPARE(b.undo().count(), 1);
        QVERIFY(b.model->value(b.model->index(0, 0)) > start);
        b.undo().undo();
        QTest::keyClick(b.table, Qt::Key_Down, Qt::ControlModifier);
        QVERIFY(b.model->value(b.model->index(0, 0)) < start);
    }

    void aPastedBlockChangesExactlyItsCells() {
        Bench b(grouped(), 3);
        const Matrix before = b.tensor(WeightKind::WQ);
        b.select(4, 0);
        b.paste(QStringLiteral("1\t2\n3\t4\n5\t6\n"));
        const Matrix& after = b.tensor(WeightKind::WQ);
        for (int r = 0; r < before.rows(); ++r)
            for (int c = 0; c < before.cols(); ++c) {
                const bool inside = r >= 4 && r < 7 && c >= 6 && c < 8;
                QCOMPARE(after(r, c), inside ? static_cast<float>((r - 4) * 2 + c - 6 + 1) : before(r, c));
            }
        QCOMPARE(b.undo().count(), 1);
    }

    void aBlockThatDoesNotFitIsRefusedWithBothSizes() {
        Bench b(grouped());
        b.select(11, 1);
        b.paste(QStringLiteral("1\t2\n3\t4\n"));
        QVERIFY(b.message().contains(QStringLiteral("2 × 2")) && b.message().contains(QStringLiteral("1 × 1")));
        b.paste(QStringLiteral("1\t2\n3\n"));
        QVERIFY(b.message().contains(QStringLiteral("Line 2")));
        QCOMPARE(b.undo().count(), 0);
    }

    void copiedNumbersComeBackAsTheSameFloats() {
        Bench b(grouped(), 1);
        const Matrix before = bandOf(b.tensor(WeightKind::WQ), {0, 12, 2, 4});
        b.editor->copyBlock();
        QCOMPARE(parseNumberBlock(QApplication::clipboard()->text(), QLocale::c()), before);
    }

    void fillsDoWhatTheirNamesSay() {
        Bench b(square());
        const Matrix start = b.tensor(WeightKind::WQ);
        b.editor->fillTransposed();
        QCOMPARE(b.tensor(WeightKind::WQ), transposed(start));
        b.editor->fillIdentity();
        QCOMPARE(b.tensor(WeightKind::WQ), identity(6, 6));
        b.editor->scaleBy(-2);
        QCOMPARE(b.tensor(WeightKind::WQ)(3, 3), -2.0F);
        b.editor->fillZero();
        QVERIFY(isZero(b.tensor(WeightKind::WQ)));
        b.editor->fillRandom(7);
        const Matrix once = b.tensor(WeightKind::WQ);
        b.editor->fillZero();
        b.editor->fillRandom(7);
        QCOMPARE(b.tensor(WeightKind::WQ), once);
        while (b.undo().canUndo())
            b.undo().undo();
        QCOMPARE(b.workspace.scenario().model, b.workspace.scenario().original);
    }

    void copyingFromAnotherHeadMakesTheBandsEqual() {
        Bench b(grouped(), 3);
        b.editor->copyFrom(LayerIndex{1}, HeadIndex{5});
        const Matrix& source = *b.workspace.scenario().model->tensor({LayerIndex{1}, WeightKind::WQ});
        QCOMPARE(bandOf(b.tensor(WeightKind::WQ), {0, 12, 6, 8}), bandOf(source, {0, 12, 10, 12}));
    }

    void revertsGiveTheOpenedNumbers() {
        Bench b(grouped(), 3);
        b.editor->fillZero();
        b.select(0, 0);
        b.editor->revertCells();
        QCOMPARE(b.tensor(WeightKind::WQ)(0, 6), (*b.workspace.scenario().original->tensor({}))(0, 6));
        QCOMPARE(b.tensor(WeightKind::WQ)(0, 7), 0.0F);
        b.editor->show(WeightEditor::Shown::WK);
        b.editor->fillZero();
        b.editor->revertHead();
        QCOMPARE(b.workspace.scenario().model, b.workspace.scenario().original);
        b.editor->show(WeightEditor::Shown::X);
        b.editor->fillZero();
        QVERIFY(!b.workspace.scenario().interventions.empty());
        b.editor->revertAll();
        QVERIFY(b.workspace.scenario().interventions.empty());
    }

    void xCellsAreInterventionsThatTheTraceFollows() {
        Bench b(grouped());
        b.editor->show(WeightEditor::Shown::X);
        QCOMPARE(b.model->rowCount(), 3);
        QCOMPARE(b.model->headerData(1, Qt::Vertical).toString(), QStringLiteral("cat"));
        QVERIFY(b.model->setData(b.model->index(1, 2), QStringLiteral("1.5")));
        QCOMPARE(b.undo().undoText(), QStringLiteral("Set X[1, 2] to 1.5"));
        QTRY_VERIFY(!b.workspace.busy());
        QCOMPARE((*b.workspace.stageMatrix({}, {}, Stage::Embedding))(1, 2), 1.5F);
        QCOMPARE(b.model->value(b.model->index(1, 2)), 1.5F);
    }

    void biasesStandOneUnderTheOther() {
        Bench b(grouped(), 4);
        b.editor->show(WeightEditor::Shown::Biases);
        QCOMPARE(b.model->rowCount(), 4);
        QCOMPARE(b.model->headerData(3, Qt::Vertical).toString(), QStringLiteral("b_O"));
        QCOMPARE(b.model->columnCount(), 12);           // b_O
        QVERIFY(!b.model->holds(b.model->index(0, 2))); // b_Q has d_k = 2 numbers
        QVERIFY(b.model->setData(b.model->index(1, 1), QStringLiteral("3")));
        QCOMPARE(b.tensor(WeightKind::BK)(0, 1 * 2 + 1), 3.0F); // of KV head 4 / 3 = 1
    }

    void sharedKeysSayWhoSharesThem() {
        Bench b(grouped(), 4);
        b.editor->show(WeightEditor::Shown::WK);
        const QString caption = b.editor->findChild<QLabel*>(QStringLiteral("muted"))->text();
        QVERIFY2(caption.contains(QStringLiteral("KV head 1, shared by H3, H4, H5")), qPrintable(caption));
    }

    void whatTheModelLacksIsDisabledWithAReason() {
        Bench b(workedExample());
        auto* biases = b.editor->findChild<QToolButton*>(QStringLiteral("showb"));
        QVERIFY(!biases->isEnabled());
        QVERIFY(biases->toolTip().contains(QStringLiteral("no biases")));
    }

    void aCsvFileFillsTheHead() {
        Bench b(grouped(), 1);
        QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("w.csv"));
        QFile file(path);
        QVERIFY(file.open(QIODevice::WriteOnly));
        for (int r = 0; r < 12; ++r)
            file.write(QByteArray::number(r) + ",0.5\n");
        file.close();
        b.editor->loadFile(path);
        QCOMPARE(b.tensor(WeightKind::WQ)(5, 2), 5.0F);
        QCOMPARE(b.tensor(WeightKind::WQ)(5, 3), 0.5F);
        b.editor->show(WeightEditor::Shown::WO);
        b.editor->loadFile(path);
        QVERIFY2(b.message().contains(QStringLiteral("12 × 2")), qPrintable(b.message()));
    }

    void numbersAreReadAsTheCountryWritesThem() {
        const QLocale german(QLocale::German), american(QLocale::English, QLocale::UnitedStates);
        QCOMPARE(parseNumber(QStringLiteral("0,5"), german), std::optional(0.5F));
        QCOMPARE(parseNumber(QStringLiteral("0.5"), german), std::optional(0.5F));
        QVERIFY(!parseNumber(QStringLiteral("1,234"), american)); // grouping is not guessed
        QVERIFY(!parseNumber(QStringLiteral("nan"), american));
        QVERIFY(!parseNumber(QStringLiteral("1e300"), american));
        QCOMPARE(parseNumber(QStringLiteral("−2"), american), std::optional(-2.0F));
        Matrix row(1, 2);
        row(0, 0) = 0.5F;
        row(0, 1) = 0.7F;
        QCOMPARE(parseNumberBlock(QStringLiteral("0,5;0,7"), german), row);
        QCOMPARE(parseNumberBlock(QStringLiteral("0.5,0.7"), american), row);
        QCOMPARE(parseNumberBlock(QStringLiteral(",0,1\na,0.5,0.7"), american), row); // labels are left out
    }
};

QTEST_MAIN(WeightEditorTest)
#include "tst_weight_editor.moc"
